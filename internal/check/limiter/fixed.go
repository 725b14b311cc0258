package limiter

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var fixedKind = kind{
	counting: fixedCounting,
	model: func(p spec.Policy, box history.Interval, _ []int64) Model {
		return fixedModel{fixed: newFixed(p, box.From, box.To), scale: 1}
	},
}

func fixedCounting(p spec.Policy, box history.Interval) counting {
	return newFixed(p, box.From, box.To)
}

// fixed is the bound of the fixed window with a phase in a box.
//
//	over:   the admissions that must lie in windows k1..k2 are at most quota * (k2-k1+1)   (Hall's
//	        condition, by earliest deadline)
//	under:  units that may lie in the denial's window and start before it reach the quota
type fixed struct {
	Grid
	quota int64
	all   bool
}

func newFixed(p spec.Policy, from, to int64) fixed {
	return fixed{NewGrid(p, from, to), p.Rate.N, p.Count == spec.CountAll}
}

func (f fixed) Over(h *history.History) *Breach {
	if br := tooDear(h.Admitted, f.quota); br != nil {
		return br
	}
	if f.all {
		if br := f.overCounting(h, h.Certain()); br != nil {
			return br
		}
	}
	return Overfull(h.Admitted, func() func(int) Seat {
		return func(i int) Seat {
			ev := &h.Admitted[i]
			return Seat{Lo: f.FirstOf(ev.Start), Hi: f.LastOf(ev.End), Cost: ev.Cost}
		}
	}, f.quota)
}

func (f fixed) Usage(h *history.History) Meter { return newWindowMeter(h, f.Grid, f.quota, f.all) }

func (f fixed) Scope() Scope {
	return Scope{Memory: f.sizeTo, Full: f.quota, All: f.all, Crowd: f.all}
}

// The counts of windows of known phase: the index of the window, the units counted in it, and for a counter
// the units counted in the window before.
const (
	windowIndex = iota
	inThis
	inLast
)

// fixedModel is a fixed window of known phase, or with a phase in a box in which no request changes its
// window. The units counted in the window are a variable of the zone. So one zone holds all possible numbers
// of them where it is not known which window some requests were counted in.
type fixedModel struct {
	fixed
	scale int64
}

// load is the index of the variable that has the units counted in the window.
const load = FirstVariable

func (f fixedModel) Traits() Traits {
	return Traits{Scale: f.scale, Counted: f.all, Windowed: true, Counting: !f.all}
}

func (f fixedModel) Scaled(k int64) Model {
	f.scale *= k
	f.Grid = f.Grid.scaled(k)
	return f
}

func (f fixedModel) Boundaries(from, to int64) []int64 { return f.begins(from, to) }

func (f fixedModel) Start(begin int64) State {
	return State{Counts: []int64{windowIndex: history.MinTime}, Zone: NewZone(begin, 0)}
}

// turn makes the window of the present the current one.
func (f fixedModel) turn(m State) {
	if k := f.at(m.Zone); k != *m.count(windowIndex) {
		*m.count(windowIndex) = k
		m.Zone.Set(load, 0, 0)
	}
}

func (f fixedModel) Admit(m State, a Request) []State {
	if !f.fits(m, a.Cost) {
		return nil
	}
	m.Zone.Shift(load, a.Cost)
	return []State{m}
}

// fits limits m to the loads that leave room; false: there are none.
func (f fixedModel) fits(m State, cost int64) bool {
	f.turn(m)
	return m.Zone.Limit(load, 0, f.quota-cost)
}

func (f fixedModel) Pass(m State, a Request) []State {
	if f.all {
		return f.Admit(m, a)
	}
	return onlyIf(f.fits(m, a.Cost), m)
}

func (f fixedModel) Deny(m State, a Request) []State {
	f.turn(m)
	if !m.Zone.Limit(0, load, -(f.quota-a.Cost)-1) {
		return nil
	}
	if f.all { // a larger load denies no more than a full window
		m.Zone.Set(load, 0, f.quota)
	}
	return []State{m}
}

func (f fixedModel) Forget(m State, _ int64) { f.turn(m) }

// overCounting asks of each admission for a window that leaves room for it. The certainly counted units in it
// before, and its own, are at most the quota.
func (f fixed) overCounting(h *history.History, counted *history.Certain) *Breach {
	for _, i := range h.AdmittedByEnd {
		ev := h.Admitted[i]
		first, last := f.FirstOf(ev.Start), f.LastOf(ev.End)
		if last > first { // no other request need be in a window with it
			continue
		}
		seen := counted.Within(f.Latest(last-1)-1, ev.Start, ev) + ev.Cost
		if seen <= f.quota {
			continue
		}
		begin := f.Latest(first - 1)
		br := &Breach{Kind: result.OverAdmission, Seen: seen, Bound: f.quota, Windows: 1, Roomless: true,
			Events: []history.Event{ev}, Span: ev.End - ev.Start}
		for _, other := range counted.Events() {
			if other.Seq != ev.Seq && other.Start >= begin && other.End < ev.Start &&
				(other.Outcome != timeline.Unknown || other.Unprovable) {
				br.Events = append(br.Events, other)
			}
		}
		return br
	}
	return nil
}
