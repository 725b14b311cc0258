package limiter

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/zone"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

var ringKind = kind{
	fits: func(p spec.Policy) bool { return p.Fixed() && p.Slots > 1 },
	bound: func(p spec.Policy, box history.Interval, _ bool) Bound {
		return newRing(p, box.From, box.To)
	},
	counting: fixedCounting,
	model: func(p spec.Policy, box history.Interval, _ []int64) Model {
		return newRingModel(p, box.From, box.To)
	},
}

// ring is the bound of a window that is divided into slots. In any n consecutive slots at most quota units
// are counted. Its Grid are the slots.
//
//	over:   the admissions that must lie in m*n consecutive slots are at most quota * m
//	under:  units that may lie in the denial's slot, or in the n-1 before it, and start before it reach the
//	        quota
type ring struct {
	Grid
	n, quota int64
	all      bool
}

func newRing(p spec.Policy, from, to int64) ring {
	// Where n does not divide the window, as when its length is measured, slots have either rounded length.
	n := p.Slots
	w := Grid{from, to, max(int64(p.Rate.Per)/n, 1), (int64(p.LongestWindow()) + n - 1) / n}
	return ring{w, n, p.Rate.N, p.Count == spec.CountAll}
}

func (r ring) Over(h *history.History) *Breach {
	if br := tooDear(h.Admitted, r.quota); br != nil {
		return br
	}
	if r.all {
		if br := r.overCounting(h, h.Surely()); br != nil {
			return br
		}
	}
	for m := int64(1); m <= Spans; m++ {
		if br := r.overSpan(h, m); br != nil {
			return br
		}
	}
	return nil
}

// overSpan looks for more than m*quota units that certainly lie in m*n consecutive slots. Of the slots that
// end with the slot of y, it takes the latest possible first one.
func (r ring) overSpan(h *history.History, m int64) *Breach {
	since := func(y int64) int64 { return r.LastOf(y) - m*r.n + 1 }
	br := overSpan(h, m*r.quota, r.FirstOf, since)
	if br != nil {
		br.Windows, br.Bound = m, m*r.quota
	}
	return br
}

// overCounting asks of each admission for a slot that leaves room for it. The certainly counted units in the
// ring before it, and its own, are at most the quota.
func (r ring) overCounting(h *history.History, counted []history.Event) *Breach {
	c := history.NewCertain(counted)
	for _, i := range h.AdmittedByEnd {
		ev := h.Admitted[i]
		first, last := r.FirstOf(ev.Start), r.LastOf(ev.End)
		if last-first >= r.n { // no other request need be in the ring with it
			continue
		}
		// The later the slot of the admission, the fewer units are still in the ring.
		seen := c.Within(r.Latest(last-r.n)-1, ev.Start, ev) + ev.Cost
		if seen <= r.quota {
			continue
		}
		begin := r.Latest(first - r.n)
		br := &Breach{Kind: verdict.OverAdmission, Seen: seen, Bound: r.quota, Windows: 1, Roomless: true,
			Events: []history.Event{ev}, Span: ev.End - ev.Start}
		for _, other := range counted {
			if other.Seq != ev.Seq && other.Start >= begin && other.End < ev.Start &&
				(other.Outcome != timeline.Unknown || other.Unprovable) {
				br.Events = append(br.Events, other)
			}
		}
		return br
	}
	return nil
}

func (r ring) Usage(h *history.History) Meter { return newWindowMeter(h, r.Grid, r.n, r.quota, r.all) }

func (r ring) Scope() Scope {
	return Scope{Memory: r.n * r.sizeTo, Full: r.quota, All: r.all, Crowd: r.all}
}

// ringModel is a ring of known phase, or with a phase in a box in which no request changes its slot. Its
// counts are the index of the slot, and the units counted in it, in the one before, and so on.
type ringModel struct {
	base
	ring
	scale int64
}

// longestRing is the most slots that the exact search remembers one by one.
const longestRing = 128

func newRingModel(p spec.Policy, from, to int64) Model {
	if p.Slots > longestRing {
		return nil
	}
	return ringModel{ring: newRing(p, from, to), scale: 1}
}

func (r ringModel) Traits() Traits { return Traits{Scale: r.scale, Counted: r.all, Windowed: true} }

func (r ringModel) Scaled(k int64) Model {
	r.scale *= k
	r.Grid = r.Grid.scaled(k)
	return r
}

func (r ringModel) Boundaries(from, to int64) []int64 { return r.begins(from, to) }

func (r ringModel) Start(begin int64) State {
	counts := make([]int64, 1+r.n)
	counts[windowIndex] = history.MinTime
	return State{Counts: counts, Zone: zone.New(begin)}
}

// slots returns the counts of the slots, that of the present first.
func (r ringModel) slots(m State) []int64 {
	return m.Counts[m.Base+windowIndex+1:][:r.n]
}

func (r ringModel) turn(m State) {
	k, old := r.at(m.Zone), *m.count(windowIndex)
	if k == old {
		return
	}
	*m.count(windowIndex) = k
	all := r.slots(m)
	turned := min(k-old, r.n)
	copy(all[turned:], slices.Clone(all))
	clear(all[:turned])
}

func (r ringModel) used(m State) int64 {
	var units int64
	for _, n := range r.slots(m) {
		units += n
	}
	return units
}

func (r ringModel) Admit(m State, a Request) []State {
	r.turn(m)
	if r.used(m)+a.Cost > r.quota {
		return nil
	}
	r.slots(m)[0] += a.Cost
	return []State{m}
}

func (r ringModel) Deny(m State, a Request) []State {
	r.turn(m)
	if r.used(m)+a.Cost <= r.quota {
		return nil
	}
	if now := &r.slots(m)[0]; r.all { // a larger load denies no more than a full ring
		*now = min(r.quota, *now+a.Cost)
	}
	return []State{m}
}

func (r ringModel) Pass(m State, a Request) []State { return Passed(r, m, a) }

func (r ringModel) Forget(m State, _ int64) { r.turn(m) }
