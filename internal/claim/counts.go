package claim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// judgeCounts judges that the remaining units fall by the cost of each admitted request, and rise no faster
// than the limit gives units back. It judges only requests without rivals: their interval meets that of no
// other request of their partition.
//
//	request      [--a--]      [--b--]        [--c--]
//	told                a            b              c
//
// If b is admitted, told(b) >= told(a) - cost(b): nothing else can have taken a unit. From the first of such
// a run, told(c) <= told(a) - cost(b) - cost(c) + what can have come back in [a.Sent, c.FirstByte]. The first
// request of a fresh partition with a full start leaves exactly what a full start admits less its cost.
func judgeCounts(j *Recording, id string, tellers []teller) result.Claim {
	all := j.stated(tellers)
	var findings []result.Finding
	compared, completes := 0, false
	for p := range j.counted() {
		if p.Limit.Completes() {
			completes = true
			continue
		}
		for _, of := range all {
			s := series{partition: p, told: of}
			s.follow()
			compared += s.compared
			findings = append(findings, s.findings...)
		}
	}
	switch {
	case compared > 0:
	case j.withhold(tellers, tellsRemaining):
		return Unpromised(id, result.PromiseRateLimit, len(tellers), "answer",
			"the remaining quota")
	case completes:
		return result.Claim{ID: id, Reason: result.NeedsFailed,
			Text: "the remaining quota depends on when requests are complete, which no answer says"}
	case len(all) == 0 && slices.ContainsFunc(tellers, stating(tellsRemaining)):
		return TooFew(id, "the remaining units that answers state are of several quotas, and none of them "+
			"has a limit that is declared")
	default:
		return TooFew(id, "no answer of a request without rivals states the remaining quota")
	}
	text := fmt.Sprintf("%d of %s report the remaining quota that earlier requests leave",
		compared-len(findings), text.Plural(compared, "answer"))
	shown := findings[:min(len(findings), MostFindings)]
	return result.Settle(id, text+Shown(len(findings)),
		result.Of(compared, "answers whose remaining units follow from an earlier one"), shown...)
}

// stated returns the quotas with remaining units that belong to the declared limit, by Seq: those of each
// name in the first dialect of the answers that states such a quota.
func (j *Recording) stated(tellers []teller) []map[int]stated {
	var out []map[int]stated
	at := map[string]int{} // the place of a name in out
	var dialect headers.Dialect
	for _, t := range tellers {
		limit := j.LimitOf(t.o)
		for _, q := range t.quotas {
			if !q.HasRemaining || t.beside(q, limit) || dialect != "" && dialect != q.Dialect {
				continue
			}
			dialect = q.Dialect
			i, known := at[q.Name]
			if !known {
				i = len(out)
				at[q.Name], out = i, append(out, map[int]stated{})
			}
			out[i][t.o.Seq] = stated{q, t.about(q, limit)}
		}
	}
	return out
}

// stated is a quota of an answer, and the policies that it may be about.
type stated struct {
	headers.Quota
	of spec.Limit
}

// series follows what the answers of one partition state of one quota.
type series struct {
	*partition
	// told is, by Seq, the quota whose remaining units an answer states.
	told map[int]stated
	// start is the first of a run of requests without rivals, last the latest. spent is what was admitted
	// after start.
	start, last *timeline.Observation
	spent       int64
	compared    int
	findings    []result.Finding
}

// follow judges all answers in order.
func (s *series) follow() {
	ends := map[int32]time.Duration{}
	for i, o := range s.obs {
		alone := s.aloneAt(ends, i)
		ends[o.Observer] = max(ends[o.Observer], DecidedBy(o))
		q, tells := s.told[o.Seq]
		left := q.Remaining
		if !alone || !tells {
			s.start, s.last = nil, nil
			continue
		}
		if i == 0 && s.Quota.Fresh {
			s.opening(o, left)
		}
		if o.Outcome == timeline.Denied && s.bans() {
			s.start, s.last = nil, nil // in a ban nothing remains, whatever is left after it
			continue
		}
		if s.last == nil || s.Forgotten(s.last, o, s.Limit) || !s.samePolicy(s.last, o) {
			s.start, s.spent = o, 0
		} else {
			s.step(o, left)
		}
		s.last = o
	}
}

// aloneAt tells whether the interval of obs[i] meets that of no other request. ends are the last ends of the
// earlier requests, by observer. A client that sends at the instant of an answer sends after it, as the
// answer was decided before it arrived.
func (s *series) aloneAt(ends map[int32]time.Duration, i int) bool {
	h, o := &s.Header, s.obs[i]
	for observer, end := range ends {
		if end > o.Sent-h.Apart(observer, o.Observer) {
			return false
		}
	}
	for j := i + 1; j < len(s.obs) && s.obs[j].Sent-2*h.ClockError < DecidedBy(o); j++ {
		if s.obs[j].Sent-h.Apart(s.obs[j].Observer, o.Observer) < DecidedBy(o) {
			return false
		}
	}
	return true
}

// bans tells whether a denial may bring a ban.
func (s *series) bans() bool {
	return slices.ContainsFunc(s.Limit, func(p spec.Policy) bool { return p.Ban > 0 })
}

// samePolicy tells whether two answers state the remaining units of one policy. Of several policies, the
// limit in the answer says which.
func (s *series) samePolicy(a, b *timeline.Observation) bool {
	x, y := s.told[a.Seq], s.told[b.Seq]
	if len(s.Limit) < 2 {
		return true
	}
	return x.HasLimit && y.HasLimit && x.Limit == y.Limit && len(policiesOf(s.Limit, x.Quota)) < 2
}

// policiesOf returns the policies of limit whose numbers q states. It may be empty.
func policiesOf(limit spec.Limit, q headers.Quota) spec.Limit {
	return slices.DeleteFunc(slices.Clone(limit), func(p spec.Policy) bool {
		return !q.HasLimit || !declares(spec.Limit{p}, q.Limit, q.Window)
	})
}

// about returns the policies of limit that q may be about. If an answer states what is left of one quota
// only, that may sum up all policies, whatever limit stands beside it.
func (t *teller) about(q headers.Quota, limit spec.Limit) spec.Limit {
	states := 0
	for _, x := range t.quotas {
		if x.Dialect == q.Dialect && (x.HasRemaining || x.Form != "") {
			states++
		}
	}
	if of := policiesOf(limit, q); len(of) > 0 && states > 1 {
		return of
	}
	return limit
}

// opening judges the first answer to a fresh partition, which may be about any of several policies.
func (s *series) opening(o *timeline.Observation, left int64) {
	known := func(p spec.Policy) bool {
		return (p.Start == "" || p.Start == spec.StartFull) && p.RateTo == 0 && p.BurstTo == 0 && p.PerTo == 0
	}
	if len(s.Limit) == 0 || o.Outcome != timeline.Allowed ||
		slices.ContainsFunc(s.Limit, func(p spec.Policy) bool { return !known(p) }) {
		return
	}
	of := s.told[o.Seq].of
	full := of[0].Full()
	for _, p := range of[1:] {
		if p.Full()-o.Cost == left || full-o.Cost != left && p.Full() < full {
			full = p.Full()
		}
	}
	s.compared++
	if want := full - o.Cost; left != want {
		s.find(left > want, want, left,
			fmt.Sprintf("#%d, the first of its partition, says that %d remain; a full start of %d less "+
				"its cost of %d leaves %d",
				o.Seq, left, full, o.Cost, want), o)
		s.findings[len(s.findings)-1].Rule = "RL-TRUTH-R"
	}
}

// step judges the answer to a request that follows another one.
func (s *series) step(o *timeline.Observation, left int64) {
	s.compared++
	cost := int64(0)
	if o.Outcome == timeline.Allowed {
		cost = o.Cost
	}
	s.spent += cost
	before := s.told[s.last.Seq].Remaining
	if least := before - cost; left < least && (cost > 0 || !s.CountsDenials()) {
		s.find(false, least, left,
			fmt.Sprintf("#%d says that %d remain, and #%d that %d do; it was %s and cost %d, so at "+
				"least %d remain",
				s.last.Seq, before, o.Seq, left, o.Outcome, cost, least), s.last, o)
		return
	}
	from := s.told[s.start.Seq].Remaining
	back, known := s.gained(s.told[o.Seq].of, s.start.Sent, o.FirstByte)
	if most := from - s.spent + back; known && left > most {
		s.find(true, most, left,
			fmt.Sprintf("#%d says that %d remain, and #%d that %d do; %d were admitted after it, and "+
				"at most %d came back in %s, so at most %d remain",
				s.start.Seq, from, o.Seq, left, s.spent, back,
				Seconds(o.FirstByte-s.start.Sent, time.Microsecond), most), s.start, o)
	}
}

// find adds a finding. high: too many units are stated, otherwise too few.
func (s *series) find(high bool, bound, left int64, text string, obs ...*timeline.Observation) {
	f := result.Finding{Kind: result.RemainingLow, Seen: bound, Bound: left, Text: text}
	if high {
		f = result.Finding{Kind: result.RemainingHigh, Seen: left, Bound: bound, Text: text}
	}
	s.findings = append(s.findings, Witness(f, obs...))
}

// gained returns the most units that one of some policies can give back to the partition in a span.
// known=false: that is not known.
func (s *series) gained(of spec.Limit, from, to time.Duration) (units int64, known bool) {
	for _, p := range of {
		back, ok := s.gainedBy(p, from, to)
		if !ok {
			return 0, false
		}
		units = max(units, back)
	}
	return units, len(of) > 0
}

// gainedBy is gained for one policy.
func (s *series) gainedBy(p spec.Policy, from, to time.Duration) (int64, bool) {
	h := &s.Header
	slack := max(h.Tick, p.Tick) + 2*h.ClockError + h.Drift(to)
	span, fastest := to-from+slack, spec.Rate{N: max(p.Rate.N, p.RateTo), Per: p.Rate.Per}
	switch {
	case p.Fixed():
		return 0, s.sameWindow(p, from-slack, to+slack)
	case p.Windowed():
		// The window before may have counted more than its quota.
		if p.Count == spec.CountAll {
			fastest.N = max(fastest.N, s.counted(from-2*p.LongestWindow()-slack, to, p))
		}
		return fastest.Units(span) + 1, span < p.Rate.Per
	case p.HasWindow():
		return s.counted(from-p.LongestWindow()-slack, to-p.Rate.Per+slack, p), true
	default:
		return fastest.Units(span) + p.Fill, span < time.Hour
	}
}

// counted returns the most units that p counts of requests that may have been decided in a span.
func (s *series) counted(from, to time.Duration, p spec.Policy) int64 {
	var units int64
	for _, o := range s.obs {
		counts := o.Outcome != timeline.Denied || p.Count == spec.CountAll || p.Count == spec.CountOwn
		switch {
		case !counts || o.Sent > to || s.chargedBy(o) < from:
		case o.Cost == timeline.CostUnknown:
			return math.MaxInt64 / 2
		default:
			units += o.Cost
		}
	}
	return units
}

// sameWindow tells whether a span surely lies in one fixed window.
func (s *series) sameWindow(p spec.Policy, from, to time.Duration) bool {
	h := &s.Header
	switch p.Align {
	case spec.AlignFirst:
		return s.Quota.Fresh && to-s.obs[0].Sent < p.Rate.Per
	case spec.AlignClock, "":
		if h.Started.IsZero() {
			return false
		}
		zero, w := h.Started.UnixNano(), int64(p.ShortestWindow())
		return (zero+int64(from-h.WallError))/w == (zero+int64(to+h.WallError))/w
	default:
		return false
	}
}

// judgeDeniedLimit judges that a denial states the limit that denied. If it was for one unit, one of the
// limits that it states has none left. A client that came back alone, at the last of all times that the
// denial states, is admitted. Otherwise the fields are those of a limit that would have admitted.
//
// What is left may be read before or after the decision: units that came back, or that rivals took, while the
// request was on its way are no contradiction. A reset may be cut, so its client must have come a unit of the
// notation later.
func judgeDeniedLimit(j *Recording, id string, tellers []teller) result.Claim {
	of := map[int]*teller{}
	for i, t := range tellers {
		if IsDenial(t.o) {
			of[t.o.Seq] = &tellers[i]
		}
	}
	var again []result.Finding
	one := false
	for _, t := range of {
		one = one || asksOne(j.LimitOf(t.o), t.o)
	}
	left, spent, open := j.unitsLeft(of)
	judged := len(left) + spent
	retries, _ := j.retries(func(d *timeline.Observation) []headers.Wait { return lastOf(of[d.Seq], d) })
	for _, x := range retries {
		if x.next.Outcome == timeline.Denied && !j.surelyWaited(x) {
			continue // the reset may be cut
		}
		if judged++; x.alone && x.next.Outcome == timeline.Denied {
			again = append(again, early(x))
		}
	}
	switch bad := len(left) + len(again); {
	case bad == 0 && open > judged && len(j.Limit) > 0:
		return TooFew(id, fmt.Sprintf("units are stated as left by %s, and they may have come back, or been "+
			"taken, while the request was on its way", text.Plural(open, "denial")))
	case judged > 0 && len(j.Limit) > 0:
		return result.Settle(id, fmt.Sprintf("%d of %s state the limit that denied%s", judged-bad,
			text.Plural(judged, "denial"), Shown(bad)), result.Of(judged,
			"denials whose limit was looked for"),
			slices.Concat(left, again)[:min(bad, MostFindings)]...)
	case len(j.Limit) == 0:
		return uncompared(id)
	case len(of) > 0 && !one:
		return moot(id, "each denied request may have asked for more than one unit")
	default:
		return j.silent(id, tellers, "what is left at a denial", func(q headers.Quota) bool {
			return q.HasRemaining || q.Form != ""
		})
	}
}

// asksOne tells whether a limit admits a request whenever one unit is left: it costs no more, and there are
// neither estimates nor places to take.
func asksOne(l spec.Limit, o *timeline.Observation) bool {
	return !slices.ContainsFunc(l, func(p spec.Policy) bool { return p.InFlight() || p.Asks(o.Cost) != 1 })
}

// unitsLeft judges what denials say that is left. spent counts those that state a limit with nothing left,
// and found has those whose limits surely all had units left. open counts those that state units which may
// have come back, or been taken, meanwhile.
func (j *Recording) unitsLeft(of map[int]*teller) (found []result.Finding, spent, open int) {
	for p := range j.counted() {
		if s := (series{partition: p}); len(p.Limit) > 0 && !s.bans() {
			f, none, unknown := s.unitsLeft(of)
			found, spent, open = append(found, f...), spent+none, open+unknown
		}
	}
	return found, spent, open
}

// unitsLeft judges the denials of one partition.
func (s *series) unitsLeft(of map[int]*teller) (found []result.Finding, spent, open int) {
	var turned []*timeline.Observation // denials that explain themselves if a window ended on their way
	for _, o := range s.obs {
		t := of[o.Seq]
		if t == nil {
			continue
		}
		least, what, sure := t.leastLeft(s.LimitOf(o))
		if least == 0 {
			spent++
		}
		if least <= 0 || !sure {
			continue
		}
		back, windows, known := s.freed(o)
		switch {
		case !known || least <= back:
			open++
		case windows == 0:
			found = append(found, s.unspent([]*timeline.Observation{o}, least, back, what))
		default:
			if turned = append(turned, o); s.closely(turned, windows) {
				found = append(found, s.unspent(turned, least, back, what))
				turned = nil
			}
		}
	}
	return found, spent, open + len(turned)
}

// leastLeft returns the fewest units that the answer states as left, and of which quota. It is -1 if none
// states any. sure: the request surely takes no more than one of them.
func (t *teller) leastLeft(limit spec.Limit) (least int64, of headers.Quota, sure bool) {
	least, sure = -1, asksOne(limit, t.o)
	for _, q := range t.quotas {
		sure = sure && (q.Units == "" || declares(limit, q.Limit, q.Window))
		if q.HasRemaining && (least < 0 || q.Remaining < least) {
			least, of = q.Remaining, q
		}
	}
	return least, of, sure
}

// freed returns the most units that came back, or that rivals took, while o was on its way, and of how many
// policies it is not known whether a window ended, or a batch came back, meanwhile.
func (s *series) freed(o *timeline.Observation) (units int64, windows int, known bool) {
	for _, p := range s.LimitOf(o) {
		back, ok := s.gainedBy(p, o.Sent, o.FirstByte)
		switch {
		case ok && p.Refill != spec.RefillInterval:
			units = max(units, back)
		case p.Turn() > 0:
			windows++
		default:
			return 0, 0, false
		}
	}
	for _, x := range s.obs {
		apart := s.Header.Apart(x.Observer, o.Observer)
		if x != o && x.Outcome != timeline.Denied && x.Sent-apart <= o.FirstByte &&
			s.chargedBy(x)+apart >= o.Sent {
			if x.Cost == timeline.CostUnknown {
				return 0, 0, false
			}
			units += x.Cost
		}
	}
	return units, windows, true
}

// chargedBy returns when x was charged at the latest. It is later than its decision if that is settled.
func (s *series) chargedBy(x *timeline.Observation) time.Duration {
	by := DecidedBy(x)
	for _, p := range s.LimitOf(x) {
		switch {
		case p.Charge != spec.ChargeCompletion:
		case x.Done > 0 && p.LingerSet:
			by = max(by, x.Done+p.Linger)
		default:
			return math.MaxInt64 / 2
		}
	}
	return by
}

// closely tells whether the last of some denials follow one another within the shortest turn, and are more
// than windows may have ended meanwhile: then at least one of them met no end.
func (s *series) closely(denials []*timeline.Observation, windows int) bool {
	n := len(denials) - windows - 1
	if n < 0 {
		return false
	}
	denials = denials[n:]
	h, last := &s.Header, denials[len(denials)-1]
	span := last.FirstByte - denials[0].Sent + 2*h.ClockError + h.Drift(last.FirstByte)
	for _, p := range s.Limit {
		if t := p.Turn(); t > 0 && span+max(h.Tick, p.Tick) >= t {
			return false
		}
	}
	for i, o := range denials[1:] {
		if o.Sent-h.Apart(o.Observer, denials[i].Observer) <= denials[i].FirstByte {
			return false
		}
	}
	return true
}

// unspent returns the finding of denials that state units left.
func (s *series) unspent(denials []*timeline.Observation, least, back int64,
	of headers.Quota) result.Finding {
	why := "was denied and cost 1, but each limit that it states"
	if len(denials) > 1 {
		why = "were denied one after the other and cost 1, but each limit that they state"
	}
	return Witness(result.Finding{Kind: result.RemainingHigh, Seen: least, Bound: back,
		Text: fmt.Sprintf("%s %s has units left: %d of %s; at most %d came back or were taken meanwhile",
			Seqs(denials), why, least, limitText(of), back)}, denials...)
}

// lastOf returns the last time at which a denial, whose quotas are those of t, lets its client come back. It
// is empty if no quota states one that lies ahead, or if the denial states a longer wait, which
// retry-after-honored judges.
func lastOf(t *teller, d *timeline.Observation) []headers.Wait {
	if t == nil {
		return nil
	}
	last := lastReset(t.quotas)
	for _, w := range Waits(d) {
		if len(last) > 0 && w.For >= add(last[0].For, last[0].Slack) {
			return nil
		}
	}
	return last
}
