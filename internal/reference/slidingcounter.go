package reference

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"math/bits"
	"time"
)

// windowCounter approximates the sliding window by two counts: cur of the window that the instant lies in, x
// into it, and prev of the one before, weighted by the part of it that a sliding window would still cover.
//
//	admitted when round(prev * (W-x)/W) + cur + cost-1 < quota
//
// RoundNone and RoundDown admit the same requests. Windows are half-open. With AlignFirst a window begins
// with the first request and the next ones follow W apart; a request 2W or more after the beginning of the
// window that counted the last one begins a window of its own, and both counts are 0 (HAProxy's freq_ctr).
// Only counted requests matter for that. Where denied requests are counted, a count stops at Most.
type windowCounter struct {
	grid     grid
	quota    int64
	all      bool
	rounding spec.Rounding
}

// counterState holds the counts of the window that began into before the time last, and of the one before. On
// a fixed grid it is the window of last; with AlignFirst that of the last counted request, which may be over:
// into is less than 2W. Without an open window all but last are zero.
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

// turn returns s with the window of its time.
func (w *windowCounter) turn(s counterState) counterState {
	if s.into < w.grid.window {
		return s
	}
	return counterState{last: s.last, into: s.into - w.grid.window, prev: s.cur, open: true}
}

func (w *windowCounter) wait(s counterState, cost int64) time.Duration {
	if cost > w.quota {
		return Never
	}
	if s.prev == 0 && s.cur == 0 {
		return 0
	}
	s = w.turn(s)
	// In this window the weighted part of prev may be at most room, in the next one that of cur.
	window := w.grid.window
	if room := w.quota - cost - s.cur; room >= 0 {
		if x := window - w.latest(s.prev, room); x < window {
			return max(0, x-s.into)
		}
	}
	return 2*window - w.latest(s.cur, w.quota-cost) - s.into
}

// latest returns the largest W-x, at most W, at which the weighted part of prev is rounded to no more than
// room.
func (w *windowCounter) latest(prev, room int64) time.Duration {
	window, counted := uint64(w.grid.window), uint64(prev)
	if prev == 0 {
		return w.grid.window
	}
	var left uint64
	switch w.rounding {
	case spec.RoundUp: // prev * left <= room * W
		left = uint64(room) * window / counted
	case spec.RoundNearest: // 2 * prev * left < (2*room + 1) * W
		left = ((2*uint64(room)+1)*window - 1) / (2 * counted)
	default: // prev * left < (room + 1) * W
		left = ((uint64(room)+1)*window - 1) / counted
	}
	return time.Duration(min(left, window))
}

func (w *windowCounter) charge(s counterState, cost int64, allow bool) (counterState, time.Duration) {
	if allow || w.all {
		s = w.turn(s)
		s.cur += min(cost, spec.Most-s.cur)
		s.open = true
	}
	return s, 0
}

func (w *windowCounter) view(s counterState) (int64, time.Duration) {
	s = w.turn(s)
	window := w.grid.window
	remaining := max(0, w.quota-s.cur-w.weighted(s))
	switch {
	case s.cur > 0:
		return remaining, 2*window - s.into
	case s.prev > 0:
		return remaining, window - s.into
	}
	return remaining, 0
}

// weighted returns the weighted part of prev, rounded to a whole number; down where it is compared exactly,
// which leaves room for as many requests of cost 1.
func (w *windowCounter) weighted(s counterState) int64 {
	window := uint64(w.grid.window)
	hi, lo := bits.Mul64(uint64(s.prev), window-uint64(s.into))
	var carry uint64
	switch w.rounding {
	case spec.RoundUp:
		lo, carry = bits.Add64(lo, window-1, 0)
	case spec.RoundNearest:
		lo, carry = bits.Add64(lo, window/2, 0)
	}
	quotient, _ := bits.Div64(hi+carry, lo, window)
	return int64(quotient)
}
