package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// fixed is the bound of the fixed window with a phase in a box.
//
//	over:   the admissions that must lie in windows k1..k2 are at most quota * (k2-k1+1)   (Hall's
//	        condition, by earliest deadline)
//	under:  units that may lie in the denial's window and start before it reach the quota
type fixed struct {
	windows
	quota int64
	all   bool
}

func newFixed(p spec.Policy, from, to int64) fixed {
	return fixed{newWindows(p, from, to), p.Rate.N, p.Count == spec.CountAll}
}

func (f fixed) over(h *history) *breach {
	if br := tooDear(h, f.quota); br != nil {
		return br
	}
	if f.all {
		return f.overCounting(h, h.surely())
	}
	return overfull(h.admitted, func() func(int) seat {
		return func(i int) seat {
			ev := &h.admitted[i]
			return seat{lo: f.first(ev.s), hi: f.last(ev.e), cost: ev.cost}
		}
	}, f.quota)
}

// overCounting: an admission needs a window in which fewer than the quota of what is counted was certainly
// before it.
func (f fixed) overCounting(h *history, counted []event) *breach {
	c := newCertain(counted)
	for _, i := range h.admittedByEnd {
		ev := h.admitted[i]
		k := f.first(ev.s)
		// In a later window the certain load at its beginning is nothing, so only one window can be violated.
		if k != f.last(ev.e) {
			continue
		}
		begin := f.latest(k - 1)
		if c.within(begin-1, ev.s, ev)+ev.cost <= f.quota {
			continue
		}
		br := &breach{kind: verdict.OverAdmission, seen: ev.cost, bound: f.quota, windows: 1, roomless: true,
			events: []event{ev}, span: ev.e - ev.s}
		for _, other := range counted {
			if other.seq != ev.seq && other.s >= begin && other.e < ev.s {
				br.events = append(br.events, other)
				br.seen += other.cost
			}
		}
		return br
	}
	return nil
}

func (f fixed) usage(h *history) meter { return newWindowMeter(h, f.windows, 1, f.quota, f.all) }

func (f fixed) scope() scope { return scope{memory: f.sizeTo, full: f.quota, all: f.all} }

// The counts of windows of known phase: the index of the window, and of a counter what was counted in it and
// in the one before.
const (
	windowIndex = iota
	inThis
	inLast
)

// fixedModel is a fixed window of known phase, or with a phase in a box inside which no request changes its
// window. What was counted in the window is a variable of the zone: where it is not known how many requests
// the window before took, one zone holds all of these numbers.
type fixedModel struct {
	base
	fixed
	scale int64
}

// load is the index of what a fixedModel has counted in its window, in units.
const load = firstVariable

func (f fixedModel) traits() traits {
	return traits{scale: f.scale, counted: f.all, windowed: true, counting: !f.all}
}

func (f fixedModel) scaled(k int64) model {
	f.scale *= k
	f.windows = f.windows.scaled(k)
	return f
}

func (f fixedModel) boundaries(from, to int64) []int64 { return f.begins(from, to) }

func (f fixedModel) start(begin int64) memoryState {
	return memoryState{counts: []int64{windowIndex: minTime}, zone: newZone(begin, 0)}
}

func (f fixedModel) turn(m memoryState) {
	if k := f.at(m.zone); k != *m.count(windowIndex) {
		*m.count(windowIndex) = k
		m.zone.set(load, 0, 0)
	}
}

func (f fixedModel) admit(m memoryState, a ask) []memoryState {
	if !f.fits(m, a.cost) {
		return nil
	}
	m.zone.shift(load, a.cost)
	return []memoryState{m}
}

// fits limits m to where there is room.
func (f fixedModel) fits(m memoryState, cost int64) bool {
	f.turn(m)
	return m.zone.limit(load, 0, f.quota-cost)
}

func (f fixedModel) pass(m memoryState, a ask) []memoryState {
	if f.all {
		return f.admit(m, a)
	}
	return onlyIf(f.fits(m, a.cost), m)
}

func (f fixedModel) deny(m memoryState, a ask) []memoryState {
	f.turn(m)
	if !m.zone.limit(0, load, -(f.quota-a.cost)-1) {
		return nil
	}
	if f.all { // more than the quota denies no more than the quota
		m.zone.set(load, 0, f.quota)
	}
	return []memoryState{m}
}

func (f fixedModel) forget(m memoryState, _ int64) { f.turn(m) }
