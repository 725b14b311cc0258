package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// ring is the bound of a window that is divided into slots: what is counted in any n slots that follow each
// other is at most the quota. Its windows are the slots.
//
//	over:   the admissions that must lie in m*n slots that follow each other are at most quota * m
//	under:  units that may lie in the denial's slot, or in the n-1 before it, and start before it reach the
//	        quota
type ring struct {
	windows
	n, quota int64
	all      bool
}

func newRing(p spec.Policy, from, to int64) ring {
	// Of a window that the number of slots does not divide, as it may be where its length is sought, slots
	// have either length.
	n := p.Slots
	w := windows{from, to, max(int64(p.Rate.Per)/n, 1), (int64(p.LongestWindow()) + n - 1) / n}
	return ring{w, n, p.Rate.N, p.Count == spec.CountAll}
}

func (r ring) over(h *history) *breach {
	if br := tooDear(h, r.quota); br != nil {
		return br
	}
	if r.all {
		return r.overCounting(h, h.surely())
	}
	for m := int64(1); m <= spans; m++ {
		if br := r.overSpan(h, m); br != nil {
			return br
		}
	}
	return nil
}

// overSpan looks for more than m*quota units that certainly lie in m*n slots: of those that end with slot y,
// the first is as late as it can be.
func (r ring) overSpan(h *history, m int64) *breach {
	if y, over := r.firstOver(h, m, make([]bool, len(h.admitted))); over {
		return r.breachAt(h, y, m)
	}
	return nil
}

// firstOver returns the earliest end of such a span, ok=false where there is none. done is as long as
// h.admitted.
func (r ring) firstOver(h *history, m int64, done []bool) (y int64, ok bool) {
	var units int64
	var leaving int // events of h.admitted whose first slot the span has passed
	for _, i := range h.admittedByEnd {
		ev := &h.admitted[i]
		x := r.last(ev.e) - m*r.n + 1
		done[i] = true
		if r.first(ev.s) >= x {
			units += ev.cost
		}
		for ; leaving < len(h.admitted) && r.first(h.admitted[leaving].s) < x; leaving++ {
			if done[leaving] && int(i) != leaving {
				units -= h.admitted[leaving].cost
			}
		}
		if units > m*r.quota {
			return ev.e, true
		}
	}
	return 0, false
}

// breachAt collects the latest admissions that end at or before y until they are too many.
func (r ring) breachAt(h *history, y, m int64) *breach {
	br := &breach{kind: verdict.OverAdmission, windows: m, bound: m * r.quota}
	for i := len(h.admitted) - 1; i >= 0; i-- {
		ev := h.admitted[i]
		if ev.e > y {
			continue
		}
		br.events = append(br.events, ev)
		if br.seen += ev.cost; br.seen > br.bound {
			br.span = y - ev.s
			return br
		}
	}
	panic("check: a violated span of slots vanished")
}

// overCounting: an admission needs a slot in which fewer than the quota of what is counted was certainly in
// the ring before it.
func (r ring) overCounting(h *history, counted []event) *breach {
	c := newCertain(counted)
	for _, i := range h.admittedByEnd {
		ev := h.admitted[i]
		first, last := r.first(ev.s), r.last(ev.e)
		if last-first >= r.n { // it may have the ring for itself
			continue
		}
		// The later its slot, the fewer are still in the ring.
		seen := c.within(r.latest(last-r.n)-1, ev.s, ev) + ev.cost
		if seen <= r.quota {
			continue
		}
		begin := r.latest(first - r.n)
		br := &breach{kind: verdict.OverAdmission, seen: seen, bound: r.quota, windows: 1, roomless: true,
			events: []event{ev}, span: ev.e - ev.s}
		for _, other := range counted {
			if other.seq != ev.seq && other.s >= begin && other.e < ev.s &&
				(other.outcome != timeline.Unknown || other.mute) {
				br.events = append(br.events, other)
			}
		}
		return br
	}
	return nil
}

func (r ring) usage(h *history) meter { return newWindowMeter(h, r.windows, r.n, r.quota, r.all) }

func (r ring) scope() scope { return scope{memory: r.n * r.sizeTo, full: r.quota, all: r.all} }

// ringModel is a ring of known phase, or with a phase in a box inside which no request changes its slot. Its
// counts are the index of the slot and what was counted there, in the one before, and so on.
type ringModel struct {
	base
	ring
	scale int64
}

// longestRing is the most slots of a ring that the exact search remembers one by one.
const longestRing = 128

func newRingModel(p spec.Policy, from, to int64) model {
	if p.Slots > longestRing {
		return nil
	}
	return ringModel{ring: newRing(p, from, to), scale: 1}
}

func (r ringModel) traits() traits { return traits{scale: r.scale, counted: r.all, windowed: true} }

func (r ringModel) scaled(k int64) model {
	r.scale *= k
	r.windows = r.windows.scaled(k)
	return r
}

func (r ringModel) boundaries(from, to int64) []int64 { return r.begins(from, to) }

func (r ringModel) start(begin int64) memoryState {
	counts := make([]int64, 1+r.n)
	counts[windowIndex] = minTime
	return memoryState{counts: counts, zone: newZone(begin)}
}

// slots returns the counts of the slots, the present one first.
func (r ringModel) slots(m memoryState) []int64 {
	return m.counts[m.base+windowIndex+1:][:r.n]
}

func (r ringModel) turn(m memoryState) {
	k, old := r.at(m.zone), *m.count(windowIndex)
	if k == old {
		return
	}
	*m.count(windowIndex) = k
	all := r.slots(m)
	turned := min(k-old, r.n)
	copy(all[turned:], slices.Clone(all))
	clear(all[:turned])
}

func (r ringModel) used(m memoryState) int64 {
	var units int64
	for _, n := range r.slots(m) {
		units += n
	}
	return units
}

func (r ringModel) admit(m memoryState, a ask) []memoryState {
	r.turn(m)
	if r.used(m)+a.cost > r.quota {
		return nil
	}
	r.slots(m)[0] += a.cost
	return []memoryState{m}
}

func (r ringModel) deny(m memoryState, a ask) []memoryState {
	r.turn(m)
	if r.used(m)+a.cost <= r.quota {
		return nil
	}
	if now := &r.slots(m)[0]; r.all { // more than the quota denies no more than the quota
		*now = min(r.quota, *now+a.cost)
	}
	return []memoryState{m}
}

func (r ringModel) pass(m memoryState, a ask) []memoryState { return passed(r, m, a) }

func (r ringModel) forget(m memoryState, _ int64) { r.turn(m) }

func (r ring) exceeds(h *history, a *asker) bool {
	if r.all {
		return r.over(h) != nil
	}
	for m := int64(1); m <= spans; m++ {
		if _, over := r.firstOver(h, m, a.marks(len(h.admitted))); over {
			return true
		}
	}
	return tooDear(h, r.quota) != nil
}
