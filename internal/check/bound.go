package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// bound asks the two questions of one policy about a history. Both answers are sound: a breach proves that no decision
// times inside the intervals, no order and (for a box of phases) no phase of the box explains the history.
type bound interface {
	// over returns the admissions that could not all be admitted, or nil.
	over(h *history) *breach
	// usage returns the meter that bounds from above how much may be in use at an instant.
	usage(h *history) meter
	// memory is how long before a denial an admission can have been decided and still count against it, in nanoseconds.
	memory() int64
	// full is the number of units that must be in use, or counted, before a request of cost 1 is denied.
	full() int64
	// countsAll tells that denied requests are counted too.
	countsAll() bool
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
	// open tells that every phase of the windows was refuted. amid: it is one among requests that are not in the witness, and
	// whatever these were answered.
	open, amid bool
	// creator is the first request of a bucket that began with less than it holds, since when the admissions were too many; else nil.
	creator *event
	// roomless: the first of the events was admitted although others, denied ones that counted or ones in flight, left no room for it.
	roomless bool
}

// meter bounds from above what may be in use, along a sweep of instants that do not decrease.
type meter interface {
	// excess returns, at instant t, by how much the greatest possible load exceeds the greatest that still admits a
	// request of cost 1: a denial of cost c at t is explained if excess + (c-1)*unit > 0. One unit of cost is unit.
	excess(t int64) int64
	unit() int64
}

// The ends of time: far beyond any recording, far from overflow.
const (
	maxTime = int64(1) << 61
	minTime = -maxTime
)

// newBound returns the bound of a policy. from and to are the box of phases, which only windowed policies read.
func newBound(p spec.Policy, from, to int64) bound {
	if tight, loose := p.Ends(); tight != loose {
		if p.Algorithm == spec.LeakyBucketQueue && p.BurstTo > 0 {
			loose.Start = spec.StartUnknown // a longer one that starts at a level has more in front of the first
		}
		return sided{newBound(tight, from, to), newBound(loose, from, to)}
	}
	switch {
	case p.Count == spec.CountOwn:
		return newOwning(p, from, to)
	case p.TTL > 0:
		return newExpiring(p, from, to)
	}
	b := algorithmBound(p, from, to)
	if p.Charge == spec.ChargeCompletion {
		return charged{b, stayOf(p)}
	}
	if p.Ban > 0 {
		return newBanned(p, b, from, to)
	}
	return b
}

func algorithmBound(p spec.Policy, from, to int64) bound {
	switch p.Algorithm {
	case spec.FixedWindow:
		if p.Slots > 1 {
			return newRing(p, from, to)
		}
		if p.Refreshes() {
			return newRefreshed(p)
		}
		if p.Align == spec.AlignFirst {
			return newFirst(p)
		}
		return newFixed(p, from, to)
	case spec.SlidingWindowCounter:
		return newCounter(p, from, to)
	case spec.SlidingWindowLog:
		return newWindowLog(p)
	case spec.LeakyBucketQueue:
		return newQueue(p)
	case spec.Concurrency:
		return newPlaces(p)
	default:
		return newBucket(p)
	}
}

// unexplainedBy returns the indices in h.denied that b cannot explain.
func unexplainedBy(h *history, b bound) []int32 {
	if len(h.denied) == 0 {
		return nil
	}
	switch b := b.(type) {
	case sided:
		return unexplainedBy(h, b.bound)
	case banned:
		return b.unbanned(h, unexplainedBy(h, b.bound))
	case expiring:
		if b.low {
			return nil
		}
		return unexplainedBy(h, b.bound)
	case charged:
		return unexplained(h, b.usage(h), b.charges(h).possible, false)
	}
	return unexplained(h, b.usage(h), h.counted(b.countsAll()), b.countsAll())
}

// underBreach returns the breach of the denial h.denied[j], which b cannot explain: the denial and everything that may
// have counted against it.
func underBreach(h *history, b bound, j int32) *breach {
	if s, ok := b.(sided); ok {
		return underBreach(h, s.bound, j)
	}
	d := h.denied[j]
	m := b.usage(h)
	best := m.excess(d.s)
	br := &breach{kind: verdict.UnderAdmission, bound: b.full(), span: d.e - d.s, events: []event{d}, asked: d.seq}
	if c, ok := b.(charged); ok {
		for _, ev := range c.charges(h).possible {
			if ev.s > d.s && ev.s <= d.e {
				best = max(best, m.excess(ev.s))
			}
		}
	}
	far, unlimited := touching(b, h, d)
	br.events = append(br.events, far...)
	for _, ev := range h.counted(b.countsAll()) {
		if ev.seq == d.seq || ev.s > d.e {
			continue
		}
		if _, late := b.(charged); ev.s > d.s && !late {
			best = max(best, m.excess(ev.s))
		}
		if !unlimited && ev.e >= d.s-b.memory() {
			br.events = append(br.events, ev)
		}
	}
	// excess is the load less full-1 units; at most this many units, rounded up, could have been in use.
	load := best + (b.full()-1)*m.unit()
	if b.countsAll() {
		load -= d.cost * m.unit()
	}
	br.seen = max(0, -floorDiv(-load, m.unit()))
	return br
}
