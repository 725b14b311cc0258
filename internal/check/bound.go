package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
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

// The ends of time: far beyond any recording, far from overflow.
const (
	maxTime = int64(1) << 61
	minTime = -maxTime
)

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
