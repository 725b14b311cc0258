package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
)

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
