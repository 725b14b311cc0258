package reference

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// fixedWindow admits quota units in each window. Windows are half-open: one ends where the next begins.
//
//	AlignClock, AlignPhase    ...[P, P+W)[P+W, P+2W)...       P a phase, W the window
//	AlignFirst                [a, a+W)   none   [b, b+W)...   a, b the first that is counted, no window open
//
// A window that requests refresh ends W after the last of them:
//
//	[a,  b,  c, c+W)   none   [d, d+W)...                     b, c requests less than W after the one before
//
// Denied requests that count are counted up to the quota, since more makes no difference. Only a counted
// request opens a window.
type fixedWindow struct {
	grid  grid
	quota int64
	all   bool
	// refresh says which requests start an open window anew.
	refresh spec.Refresh
}

// windowState holds the count of the open window. At the time last, the window is into old, or was refreshed
// so long ago. Without an open window into and used are 0.
type windowState struct {
	last, into time.Duration
	used       int64
	open       bool
}

func newFixedWindow(p spec.Policy) *fixedWindow {
	return &fixedWindow{grid: newGrid(p), quota: p.Rate.N, all: p.Count == spec.CountAll, refresh: p.Refresh}
}

func (w *fixedWindow) open(at time.Duration) windowState {
	return windowState{last: at, into: w.grid.into(at), open: !w.grid.first}
}

func (w *fixedWindow) advance(s windowState, at time.Duration) windowState {
	past := since(at, s.last)
	if past == 0 {
		return s
	}
	if s.open && past < uint64(w.grid.window-s.into) {
		s.last, s.into = at, s.into+time.Duration(past)
		return s
	}
	return w.open(at)
}

func (w *fixedWindow) wait(s windowState, cost int64) time.Duration {
	switch {
	case cost > w.quota:
		return Never
	case cost <= w.quota-s.used:
		return 0
	}
	return w.grid.window - s.into
}

func (w *fixedWindow) charge(s windowState, cost int64, allow bool) (windowState, time.Duration) {
	if allow || w.all {
		s.used += min(cost, w.quota-s.used)
		s.open = true
	}
	if w.refresh == spec.RefreshAll || w.refresh == spec.RefreshAdmitted && allow {
		s.into = 0
	}
	return s, 0
}

func (w *fixedWindow) view(s windowState) (int64, time.Duration) {
	if !s.open {
		return w.quota, 0
	}
	return max(0, w.quota-s.used), w.grid.window - s.into
}

// amend changes the count, which may then exceed the quota. What is counted while no window is open opens
// one.
func (w *fixedWindow) amend(s windowState, units int64) windowState {
	s.used = amended(s.used, units)
	s.open = s.open || s.used > 0
	return s
}

// grid says where windows begin.
type grid struct {
	window, phase time.Duration
	// first: a window begins with a request that finds none open.
	first bool
}

// newGrid returns the grid of p. An unknown alignment has phase 0, a range of phases the first of them.
func newGrid(p spec.Policy) grid {
	if c := p.Calendar(); !c.IsZero() { // dated pads its windows
		return grid{window: c.Longest()}
	}
	return grid{window: p.Rate.Per, phase: p.PhaseFrom, first: p.Align == spec.AlignFirst}
}

// into returns how old the window is at the instant at, 0 <= into < window. It is 0 for windows that begin
// with a request.
func (g grid) into(at time.Duration) time.Duration {
	if g.first {
		return 0
	}
	return ((at%g.window-g.phase)%g.window + g.window) % g.window
}
