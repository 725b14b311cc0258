package claim

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const honoredID = string(result.ClaimRetryAfterHonored)

// fewestWaits is how many honored waits must be seen if the scenario does not say. A wait that is cut to the
// second is long enough at most phases of a second.
const fewestWaits = 2

// retry is a denial that states a wait, and the first request of its partition that was sent after that wait.
type retry struct {
	denial, next *timeline.Observation
	told         headers.Wait
	// alone: no other request of the partition can have been decided between them.
	alone bool
	// limit counts the partition. May be empty.
	limit spec.Limit
}

// judgeHonored judges that a client which waited as told, and had no rival on its partition meanwhile, is
// admitted (RFC 9110 section 10.2.3: how long the user agent ought to wait before a follow-up request).
//
//	        Sent   FirstByte                        Sent   FirstByte
//	denial  [--d1--]<--------- told wait --------->|  [--d2--] retry
//	  |<------------- no other request can be decided in here ------------->|
//
// d2 - d1 is at least the told wait, wherever d1 and d2 lie. So a second denial refutes the Retry-After of
// the first. Requests that touch the gap in one instant only are no rivals if their order there cannot matter
// (rival).
//
// An admitted retry shows an honored wait, whoever else took units meanwhile, unless it was told to wait for
// nothing: its way there and back may have been long enough. Far from a fast limit there is no other kind.
func judgeHonored(r *Recording) result.Claim {
	return r.Alone(r.honoredWaits(cmp.Or(r.RetryAfter.Waits, fewestWaits)))
}

// honoredWaits is honored if at least `fewest` waits must be seen.
func (r *Recording) honoredWaits(fewest int) result.Claim {
	retries, denials := r.retries(toldBy)
	var kept int
	shown := map[int]bool{} // one request shows one wait, however many denials told it
	var shortest, longest time.Duration
	var findings []result.Finding
	lies, blurred := 0, 0
	for _, x := range retries {
		switch {
		case x.next.Outcome == timeline.Allowed && shown[x.next.Seq]:
		case x.next.Outcome == timeline.Allowed:
			shown[x.next.Seq] = true
			if kept == 0 || x.told.For < shortest {
				shortest = x.told.For
			}
			kept, longest = kept+1, max(longest, x.told.For)
		case x.alone && r.surelyWaited(x):
			if lies++; lies <= MostFindings {
				findings = append(findings, early(x))
			}
		case x.alone && x.told.Slack == 0:
			blurred++
		}
	}
	// A wait cut to whole seconds is long enough by chance at some starts of the second: one proves little.
	chances := result.Chances{Seen: kept + lies, Demanded: fewest, Of: "clients that waited as told"}
	switch {
	case lies > 0:
		return result.Settle(honoredID,
			fmt.Sprintf("%d of %d clients that waited as told were denied again%s",
				lies, lies+kept, Shown(lies)), chances, findings...)
	case blurred > 0:
		return TooFew(honoredID, fmt.Sprintf("of %d clients that waited as told %d were denied again, by "+
			"less than a clock can be wrong", kept+blurred, blurred))
	case kept > 0:
		return result.Settle(honoredID,
			fmt.Sprintf("%s of %s to %s honored: no client that waited as told and was alone was denied",
				text.Plural(kept, "wait"), Seconds(shortest, time.Second),
				Seconds(longest, time.Second)), chances)
	case denials == 0:
		return TooFew(honoredID, "no request was denied")
	case r.untold(Denied(r.Target)):
		return Unpromised(honoredID, result.PromiseRetryAfter, denials, "denial",
			"a Retry-After to honor")
	default:
		return TooFew(honoredID,
			fmt.Sprintf("no client waited as one of %s told it to, and was then admitted or alone",
				text.Plural(denials, "denial")))
	}
}

// retries returns the pairs of a denial and the first request of its partition that waited as told. Both have
// the same cost, and the answer is known. If others may have been decided between them, only admitted
// requests are returned. denials is the number of all denials. told returns the waits that a denial states.
func (r *Recording) retries(told func(*timeline.Observation) []headers.Wait) (out []retry, denials int) {
	for p := range r.counted() {
		before := rivals{}
		for i, d := range p.obs {
			var waits []headers.Wait
			if IsDenial(d) {
				denials, waits = denials+1, told(d)
			}
			for _, w := range waits {
				if x, ok := p.retryAt(i, w, before); ok {
					out = append(out, x)
				}
			}
			before.add(d)
		}
	}
	return out, denials
}

// retryAt returns obs[i] and the first request that waited as t tells, if they are a retry. Of requests that
// were denied it takes the first that waited so on every clock: denials between them that leave no trace are
// no rivals.
func (p *partition) retryAt(i int, t headers.Wait, before rivals) (retry, bool) {
	d := p.obs[i]
	if p.Limit.Completes() { // requests in flight, or counted later, may deny the retry
		return retry{}, false
	}
	if t.Slack > 0 && !p.endsDenials(d) {
		return retry{}, false
	}
	later := p.obs[i+1:]
	at := sort.Search(len(later), func(k int) bool { return later[k].Sent-d.FirstByte >= t.For })
	if at == len(later) {
		return retry{}, false
	}
	x := retry{denial: d, next: later[at], told: t, alone: at == 0, limit: p.Limit}
	first := x.next
	for x.alone && at+1 < len(later) && IsDenial(x.next) && !p.CountsDenials() && !p.surelyWaited(x) {
		if later[at+1].Outcome == timeline.Allowed {
			break // nobody knows whether the denials before it came a tick too late
		}
		at++
		x.next = later[at]
	}
	switch next := x.next; {
	case next.Origin, !next.Answered, next.Outcome == timeline.Unknown, next.Cost != d.Cost:
		return retry{}, false
	case p.Forgotten(d, next, slices.DeleteFunc(slices.Clone(p.Limit), startsFull)):
		// The retry met a new partition that is not full.
		return retry{}, false
	}
	x.alone = x.alone && !p.between(before, d) && !p.disturbed(x.next, later[at+1:])
	return x, x.alone && x.next.Outcome == timeline.Denied ||
		x.next.Outcome == timeline.Allowed && t.For > 0 && x.next == first
}

// endsDenials tells whether d would be admitted at its reset. That may be the reset of one unit, and of a
// window rather than of a ban.
func (p *partition) endsDenials(d *timeline.Observation) bool {
	banned := slices.ContainsFunc(p.Limit, func(p spec.Policy) bool { return p.LongestBan() > 0 })
	return !banned && asksOne(p.Limit, d) && (len(p.Limit) > 0 || d.Cost == 1)
}

// startsFull tells whether a new partition admits as much as an old one.
func startsFull(p spec.Policy) bool { return p.Start == "" || p.Start == spec.StartFull }

// rival is the last end of the intervals of some requests, and what is known of the requests with that end. A
// tie is harmless if the order cannot matter. A limiter that denies does not admit a request of the same cost
// at the same instant, so an admission was decided before the denial. A denial leaves no trace where denials
// are not counted.
type rival struct {
	end time.Duration
	// unknown: one of them has no known outcome. denied: one of them was denied. costs are their smallest and
	// largest cost, 0 if there are no requests.
	unknown, denied bool
	costs           [2]int64
}

// rivals has the rival of each observer.
type rivals map[int32]rival

func (all rivals) add(o *timeline.Observation) {
	v := all[o.Observer]
	v.add(o)
	all[o.Observer] = v
}

func (v *rival) add(o *timeline.Observation) {
	end := DecidedBy(o)
	if v.costs[0] == 0 || end > v.end {
		*v = rival{end: end, costs: [2]int64{o.Cost, o.Cost}}
	}
	if end < v.end {
		return
	}
	v.unknown = v.unknown || !o.Answered || o.Outcome == timeline.Unknown
	v.denied = v.denied || o.Outcome == timeline.Denied
	v.costs = [2]int64{min(v.costs[0], o.Cost), max(v.costs[1], o.Cost)}
}

// between tells whether an earlier request may have been decided after d, with an effect.
func (p *partition) between(before rivals, d *timeline.Observation) bool {
	for observer, v := range before {
		slack := p.Header.Apart(observer, d.Observer)
		if v.end < d.Sent-slack {
			continue
		}
		tie := v.end == d.Sent && slack == 0
		if !tie || v.unknown || v.costs != [2]int64{d.Cost, d.Cost} || v.denied && p.CountsDenials() {
			return true
		}
	}
	return false
}

// disturbed tells whether one of later, the requests sent after next, may have been decided before it, with
// an effect.
func (p *partition) disturbed(next *timeline.Observation, later []*timeline.Observation) bool {
	for _, o := range later {
		if o.Sent-2*p.Header.ClockError > next.FirstByte {
			return false
		}
		if p.disturbs(o, next) {
			return true
		}
	}
	return false
}

// disturbs tells whether o, which was sent after next, may have been decided before it, with an effect. In a
// tie it has no effect on a retry that was admitted, or if o was denied.
func (p *partition) disturbs(o, next *timeline.Observation) bool {
	slack := p.Header.Apart(o.Observer, next.Observer)
	if o.Sent-slack > next.FirstByte {
		return false
	}
	tie := o.Sent == next.FirstByte && slack == 0
	return !tie || next.Outcome != timeline.Allowed && (!IsDenial(o) || p.CountsDenials())
}

// surelyWaited tells whether the retry came late enough on every clock: those of several observers, and the
// target's own. The target's clock may read up to a tick less than the time of the decision, and run slower
// than ours.
func (r *Recording) surelyWaited(x retry) bool {
	h := &r.Header
	tick := h.Tick
	for _, p := range x.limit {
		tick = max(tick, p.Tick)
	}
	waited := x.next.Sent - x.denial.FirstByte
	return waited-tick-2*h.ClockError-h.Drift(waited) >= add(x.told.For, x.told.Slack)
}

// early returns the finding of a retry that was denied. Its times are printed in the coarsest unit in which
// the printed numbers still prove it: the first byte rounded up, the next send rounded down.
func early(x retry) result.Finding {
	for unit := time.Millisecond; ; unit /= 1000 {
		from := (x.denial.FirstByte + unit - 1).Truncate(unit)
		to := x.next.Sent.Truncate(unit)
		if to-from < add(x.told.For, x.told.Slack) && unit > 1 {
			continue
		}
		kind := result.RetryAfterEarly
		if x.told.Slack > 0 {
			kind = result.ResetEarly
		}
		return Witness(result.Finding{
			Kind: kind, Seen: int64(x.next.Sent - x.denial.FirstByte),
			Bound: int64(x.told.For),
			Text: fmt.Sprintf("#%d was denied with %s (first byte %s); its client waited %s, sent #%d at "+
				"%s, and was denied again",
				x.denial.Seq, x.told, Seconds(from, unit), Seconds(to-from, unit), x.next.Seq,
				Seconds(to, unit)),
		}, x.denial, x.next)
	}
}

const notLongerID = string(result.ClaimRetryAfterNotLonger)

// judgeNotLonger judges that nobody is told to wait longer than the limit can need, rounded up to the second.
// A date may round up once more, because the Date that it counts from is cut to the second. That Date may
// also be old (StaleDate).
func judgeNotLonger(r *Recording) result.Claim {
	if len(r.Limit) == 0 {
		return result.Claim{ID: notLongerID, Reason: result.NeedsFailed,
			Text: "the wait that is needed follows from a limit, and no limit is declared"}
	}
	denials, opened := Denied(r.Target), r.openings()
	var findings []result.Finding
	judged, late := 0, 0
	for _, d := range denials {
		known, f := r.overlong(d, opened)
		if known {
			judged++
		}
		if f == nil {
			continue
		}
		if late++; late <= MostFindings {
			findings = append(findings, *f)
		}
	}
	chances := result.Of(judged, "denials whose wait was compared with the limit")
	if judged == 0 && r.untold(denials) && len(denials) > 0 {
		return Unpromised(notLongerID, result.PromiseRetryAfter, len(denials), "denial", "a Retry-After")
	}
	return result.Settle(notLongerID, fmt.Sprintf("%d of %s stated a longer wait than the limit can need%s",
		late, text.Plural(judged, "denial"), Shown(late)), chances, findings...)
}

// overlong returns the finding of a denial that states a longer wait than needed, or nil. A denial without a
// wait is judged by its resets. known: it could be judged.
func (r *Recording) overlong(d *timeline.Observation, opened map[string]span) (known bool,
	f *result.Finding) {
	waits := Waits(d)
	for _, t := range waits {
		need, ok := r.LongestNeed(d, t)
		if known = known || ok; !ok || t.For <= need || t.Loose && r.deniedAfter(d, t.For/1000) == nil {
			continue
		}
		wait, _ := r.LongestWait(d)
		return true, tooLong(d, t, need, wait)
	}
	if len(waits) > 0 {
		return known, nil
	}
	t, limit := teller{o: d}, r.LimitOf(d)
	at, _ := Date(d)
	t.quotas, _ = headers.Quotas(d.Fields.Get, at)
	for _, q := range t.quotas {
		if !q.HasReset || t.beside(q, limit) || len(limit) == 0 || limit.Completes() {
			continue
		}
		known = true
		f = r.wrongReset(d, q, limit, t.about(q, limit), opened)
		if f != nil && f.Kind == result.ResetLate {
			return true, f
		}
	}
	return known, nil
}

// tooLong returns the finding of a denial that states a longer wait than needed.
func tooLong(d *timeline.Observation, t headers.Wait, need, wait time.Duration) *result.Finding {
	f := Witness(result.Finding{
		Kind: result.RetryAfterLate, Seen: int64(t.For), Bound: int64(need),
		Text: fmt.Sprintf("#%d was denied with %s (sent %s, first byte %s); at most %s could be "+
			"needed, so at most %s may be stated",
			d.Seq, t, Seconds(d.Sent, time.Millisecond), Seconds(d.FirstByte, time.Millisecond),
			Seconds(wait, time.Microsecond), statable(need)),
	}, d)
	return &f
}

// statable prints the longest wait that may be stated, in whole seconds if it is so.
func statable(need time.Duration) string {
	if need%time.Second == 0 {
		return fmt.Sprintf("%d s", need/time.Second)
	}
	return Seconds(need, time.Millisecond)
}
