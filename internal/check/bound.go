package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// bound asks the two questions of one policy about a history. Both answers are sound: a breach proves that no
// decision times inside the intervals, no order and (for a box of phases) no phase of the box explains the
// history.
type bound interface {
	// over returns the admissions that could not all be admitted, or nil.
	over(h *history) *breach
	// usage returns the meter that bounds from above how much may be in use at an instant.
	usage(h *history) meter
	// scope is what else the questions of denials depend on.
	scope() scope
}

// scope is what a bound says of itself.
type scope struct {
	// memory is how long before a denial an admission can have been decided and still count against it, in
	// nanoseconds.
	memory int64
	// full is the number of units that must be in use, or counted, before a request of cost 1 is denied.
	full int64
	// all tells that denied requests are counted too.
	all bool
	// late: requests are counted when they are complete, and the meter follows their charges.
	late bool
	// low: nothing bounds what may be in use, so that every denial is explained.
	low bool
	// ban is how long, in nanoseconds, a denial explains those that follow it; 0 where it explains none.
	ban int64
	// silence is how long one must be, in nanoseconds, for a window that requests start anew to end, and
	// every tells that denied requests start it anew; 0 where memory says all.
	silence int64
	every   bool
}

// breach is a proved contradiction inside one history.
type breach struct {
	kind verdict.Kind
	// seen and bound are what Finding calls Seen and Bound.
	seen, bound int64
	// span is the widened length of time the bound was computed for, in nanoseconds.
	span int64
	// events are the witness, in any order.
	events []event
	// asked is the number of the denial of an under-admission.
	asked int
	// windows is the number of windows a windowed bound spans, 0 elsewhere.
	windows int64
	// open tells that every phase of the windows was refuted. amid: it is one among requests that are not in
	// the witness, and whatever these were answered.
	open, amid bool
	// creator is the first request of a bucket that began with less than it holds, since when the admissions
	// were too many; else nil.
	creator *event
	// roomless: the first of the events was admitted although others, denied ones that counted or ones in
	// flight, left no room for it.
	roomless bool
}

// meter bounds from above what may be in use, along a sweep of instants that do not decrease.
type meter interface {
	// excess returns, at instant t, by how much the greatest possible load exceeds the greatest that still
	// admits a request of cost 1: a denial of cost c at t is explained if excess + (c-1)*unit > 0. One unit
	// of cost is unit.
	excess(t int64) int64
	unit() int64
}

// newBound returns the bound of a policy. from and to are the box of phases, which only windowed policies
// read.
func newBound(p spec.Policy, from, to int64) bound { return boundAmong(p, from, to, false) }

// newBoundAmong returns the bound of one of several policies: a denied request that it counts may have opened
// a window, as another policy may have denied it.
func newBoundAmong(p spec.Policy, from, to int64) bound {
	return boundAmong(p, from, to, p.Count == spec.CountAll)
}

// boundAmong returns the bound of a policy. others: a request that another policy denied may have opened a
// window.
func boundAmong(p spec.Policy, from, to int64, others bool) bound {
	if tight, loose := p.Ends(); tight != loose {
		if p.Queued() && p.BurstTo > 0 {
			// a longer one that starts at a level has more in front of the first
			loose.Start = spec.StartUnknown
		}
		return sided{boundAmong(tight, from, to, others), boundAmong(loose, from, to, others)}
	}
	switch {
	case p.Count == spec.CountOwn:
		return newOwning(p, from, to)
	case p.TTL > 0:
		return newExpiring(p, from, to, others)
	case p.Charge == spec.ChargeCompletion && !p.InFlight():
		return charged{countingBound(p, from, to), stayOf(p)}
	case p.Ban > 0:
		return newBanned(p, from, to, others)
	}
	return algorithmBound(p, from, to, others)
}

func algorithmBound(p spec.Policy, from, to int64, others bool) bound {
	switch {
	case p.InFlight():
		return newPlaces(p)
	case p.Queued():
		return newQueue(p)
	case p.Fixed() && p.Slots > 1:
		return newRing(p, from, to)
	case p.Fixed() && p.Refreshes():
		return newRefreshed(p)
	case p.Fixed() && p.Align == spec.AlignFirst:
		f := newFirst(p)
		f.others = others
		return f
	}
	return countingBound(p, from, to)
}

// countingBound returns the bound of a policy that may count other times than those of its decisions.
func countingBound(p spec.Policy, from, to int64) counting {
	switch p.Algorithm {
	case spec.FixedWindow:
		return newFixed(p, from, to)
	case spec.SlidingWindowCounter:
		return newCounter(p, from, to)
	case spec.SlidingWindowLog:
		return newWindowLog(p)
	default:
		return newBucket(p)
	}
}

// unexplainedBy returns the indices in h.denied that b cannot explain.
func unexplainedBy(h *history, b bound) []int32 {
	of := b.scope()
	if len(h.denied) == 0 || of.low {
		return nil
	}
	counted := h.counted(of.all)
	if of.late {
		counted = chargesOf(h).possible
	}
	out := unexplained(h, b.usage(h), counted, of.all)
	if of.ban > 0 {
		return unbanned(h, out, of.ban)
	}
	return out
}

// underBreach returns the breach of the denial h.denied[j], which b cannot explain: the denial and everything
// that may have counted against it.
func underBreach(h *history, b bound, j int32) *breach {
	d, of, m := h.denied[j], b.scope(), b.usage(h)
	best := m.excess(d.s)
	br := &breach{kind: verdict.UnderAdmission, bound: of.full, span: d.e - d.s, asked: d.seq}
	br.events = []event{d}
	asked := h.counted(of.all)
	if of.late {
		asked = chargesOf(h).possible
	}
	for _, ev := range asked {
		if ev.seq != d.seq && ev.s > d.s && ev.s <= d.e {
			best = max(best, m.excess(ev.s))
		}
	}
	br.events = append(br.events, of.mattering(h, d)...)
	// excess is the load less full-1 units; at most this many units, rounded up, could have been in use.
	load := best + (of.full-1)*m.unit()
	if of.all {
		load -= d.cost * m.unit()
	}
	br.seen = max(0, -floorDiv(-load, m.unit()))
	return br
}

// mattering returns the requests that may have counted against a denial, itself left out.
func (of scope) mattering(h *history, d event) []event {
	if of.silence > 0 {
		return of.sinceSilence(h, d)
	}
	var out []event
	for _, ev := range h.counted(of.all) {
		if ev.seq != d.seq && ev.s <= d.e && ev.e >= d.s-of.memory {
			out = append(out, ev)
		}
	}
	return out
}

// edgesOf returns the edges of a recording for a limit, or nil if it has none. What the clocks leave open is
// outside.
func edgesOf(h timeline.Header, limit spec.Limit) *edges {
	if h.CompleteFrom == 0 && h.CompleteUntil == 0 {
		return nil
	}
	e := &edges{until: maxTime, begun: maxTime, drop: true}
	if from := int64(h.CompleteFrom); from > 0 {
		e.from = from + int64(h.ClockError+h.Drift(h.CompleteFrom))
	}
	if until := int64(h.CompleteUntil); until > 0 {
		e.until = until - int64(h.ClockError+h.Drift(h.CompleteUntil))
	}
	for _, p := range limit {
		e.memory = max(e.memory, newBound(p, 0, 0).scope().memory)
		e.drop, e.renews = e.drop && changesNothing(p), e.renews || p.TTL > 0
		if remembersStart(p) || p.Refill == spec.RefillInterval {
			e.begun, e.again = e.until, e.again || p.TTL > 0
		}
		e.opened = e.opened || p.Windowed() && p.Align == spec.AlignFirst
	}
	return e
}

// asker asks the questions of a bound for the answer alone, without a witness, and again and again in the
// same memory: of one history under policies that differ in one parameter, or of very many small histories.
// The zero value is ready. It serves one goroutine.
type asker struct {
	list  []candidate
	done  []bool
	sweep sweep
}

// refutes is judgeOne without its breach.
func (a *asker) refutes(h *history, b bound, mode verdict.Conformance) bool {
	return mode != verdict.LowerBound && a.over(h, b) || mode != verdict.UpperBound && a.under(h, b)
}

// over tells whether b.over finds anything.
func (a *asker) over(h *history, b bound) bool {
	if bare, ok := b.(exceeder); ok {
		return bare.exceeds(h, a)
	}
	return b.over(h) != nil
}

// exceeder is a bound that tells without a witness whether its over finds anything.
type exceeder interface {
	exceeds(h *history, a *asker) bool
}

// marks returns n marks, none of them set, in the memory of a.
func (a *asker) marks(n int) []bool {
	if len(a.done) < n {
		a.done = make([]bool, 2*n)
	}
	clear(a.done[:n])
	return a.done[:n]
}

// under tells whether unexplainedBy finds anything.
func (a *asker) under(h *history, b bound) bool {
	of := b.scope()
	if of.low || of.late || of.ban > 0 {
		return len(unexplainedBy(h, b)) > 0
	}
	if len(h.denied) == 0 {
		return false
	}
	pending, out := a.sweep.pending[:0], a.sweep.out[:0]
	a.sweep = sweep{h: h, m: b.usage(h), own: of.all, pending: pending, out: out, once: true}
	return len(a.sweep.unexplained(h.counted(of.all))) > 0
}

// sweptBound is a bound whose question of admissions is asked block by block too.
type sweptBound interface {
	bound
	swept() overSweep
}

// overSweep asks the question of bound.over block by block, and keeps of what came before only what can
// matter.
type overSweep interface {
	// advance takes the events of a block: fresh are those that begin before the horizon, ascending by s, of
	// which the admissions count; ended are the admissions, of this block or of earlier ones, that end before
	// the horizon, ascending by e. No other begins or ends before the horizon. oldest is the earliest start
	// of an admission that ends later.
	advance(fresh, ended []event, oldest, horizon int64) *alarm
}

// mostListed is the most of the requests in a breach that are listed.
const mostListed = 1 << 14

// alarm is a breach whose events are not listed: they lie between from and to. placing are requests by which
// it is known where windows begin.
type alarm struct {
	breach
	from, to int64
	placing  []event
}

// sweptBoundOf returns the bound of a policy without ranges that counts admissions.
func sweptBoundOf(p spec.Policy) sweptBound {
	if p.TTL > 0 {
		alive := p
		alive.TTL = 0
		return sweptLives{newExpiring(p, 0, 0, false), sweptBoundOf(alive)}
	}
	if p.Queued() {
		return newQueue(p)
	}
	return newBucket(p)
}

// sweptWindows returns the bound of the admissions in windows that requests place; others: what another
// policy denied, or one with a smaller quota, may have placed them too.
func sweptWindows(p spec.Policy, others bool) sweptBound {
	f := newFirst(p)
	f.others = p.Count == spec.CountOwn || f.all && others
	if p.Count == spec.CountOwn || f.all && p.Ban > 0 { // inside a ban a denied request is not counted
		p.Count, f.all = spec.CountAdmitted, false
	}
	if p.Refreshes() {
		return newRefreshed(p)
	}
	return f
}
