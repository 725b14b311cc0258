package reference

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// windowCounter approximates the sliding window by two counts. cur counts the window that the instant lies
// in, x after its beginning. prev counts the window before. It is weighted by the part of that window that a
// sliding window would still cover.
//
//	admitted when round(prev * (W-x)/W) + cur + cost-1 < quota
//
// RoundNone and RoundDown admit the same requests. Windows are half-open. With AlignFirst a window begins
// with the first request, and the next ones follow W apart. A request may come 2W or more after the beginning
// of the window that counted the last one. It begins a window of its own, with both counts 0 (HAProxy's
// freq_ctr). Only counted requests matter for that. Where denied requests are counted, a count stops at Most.
type windowCounter struct {
	grid     grid
	quota    int64
	all      bool
	rounding spec.Rounding
}

// counterState holds the counts of a window that began into before the time last, and of the window before.
// On a fixed grid it is the window of last. With AlignFirst it is the window of the last counted request.
// That window may be over, but into is less than 2W. Without an open window all but last are zero.
type counterState struct {
	last, into time.Duration
	prev, cur  int64
	open       bool
}

// newWindowCounter returns the sliding window counter of p.
func newWindowCounter(p spec.Policy) *windowCounter {
	return &windowCounter{grid: newGrid(p), quota: p.Rate.N, all: p.Count == spec.CountAll,
		rounding: p.Rounding}
}

func (w *windowCounter) open(at time.Duration) counterState {
	return counterState{last: at, into: w.grid.into(at), open: !w.grid.first}
}

func (w *windowCounter) advance(s counterState, at time.Duration) counterState {
	past := since(at, s.last)
	if past == 0 {
		return s
	}
	window := uint64(w.grid.window)
	age := uint64(s.into) + past
	if age < past || age >= 2*window || !s.open {
		return w.open(at)
	}
	s.last, s.into = at, time.Duration(age)
	if w.grid.first {
		return s
	}
	return w.turn(s)
}

// turn returns s with the window that its time lies in.
func (w *windowCounter) turn(s counterState) counterState {
	if s.into < w.grid.window {
		return s
	}
	return counterState{last: s.last, into: s.into - w.grid.window, prev: s.cur, open: true}
}

func (w *windowCounter) wait(s counterState, cost int64) time.Duration {
	s = w.turn(s)
	return w.counts(s).Wait(w.quota, cost)
}

func (w *windowCounter) charge(s counterState, cost int64, allow bool) (counterState, time.Duration) {
	if allow || w.all {
		s = w.turn(s)
		s.cur += min(cost, spec.Most-s.cur)
		s.open = true
	}
	return s, 0
}

// amend counts units, which are not negative.
func (w *windowCounter) amend(s counterState, units int64) counterState {
	s = w.turn(s)
	s.cur += min(units, spec.Most-s.cur)
	return s
}

func (w *windowCounter) view(s counterState) (int64, time.Duration) {
	s = w.turn(s)
	return w.counts(s).View(w.quota)
}

func (w *windowCounter) counts(s counterState) Counts {
	return Counts{Prev: s.prev, Cur: s.cur, Into: s.into, Window: w.grid.window, Rounding: w.rounding}
}
