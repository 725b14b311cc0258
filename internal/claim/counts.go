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

// counts judges that the remaining units fall by the cost of each admitted request, and rise no faster than
// the limit gives units back. It judges only requests without rivals: their interval meets that of no other
// request of their partition.
//
//	request      [--a--]      [--b--]        [--c--]
//	told                a            b              c
//
// If b is admitted, told(b) >= told(a) - cost(b): nothing else can have taken a unit. From the first of such
// a run, told(c) <= told(a) - cost(b) - cost(c) + what can have come back in [a.Sent, c.FirstByte]. The first
// request of a fresh partition with a full start leaves exactly what a full start admits less its cost.
func (j *Recording) counts(id string, tellers []teller) result.Claim {
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
