package reference

import (
	"math/bits"
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

// Counts are what a sliding window counter knows at an instant: the units counted in its window and in the
// window before, and how far into its window the instant is. Into is less than Window.
type Counts struct {
	Prev, Cur    int64
	Into, Window time.Duration
	Rounding     spec.Rounding
}

// View returns how many units of a quota are left, and the time until nothing counts any more.
func (c Counts) View(quota int64) (remaining int64, reset time.Duration) {
	remaining = max(0, quota-c.Cur-c.weighted())
	switch {
	case c.Cur > 0:
		return remaining, 2*c.Window - c.Into
	case c.Prev > 0:
		return remaining, c.Window - c.Into
	}
	return remaining, 0
}

// Wait returns how long a request waits until the quota admits it. Never: its cost is larger than the quota.
func (c Counts) Wait(quota, cost int64) time.Duration {
	if cost > quota {
		return Never
	}
	if c.Prev == 0 && c.Cur == 0 {
		return 0
	}
	// In this window the weighted part of Prev may be at most room. In the next window that of Cur may be.
	if room := quota - cost - c.Cur; room >= 0 {
		if x := c.Window - c.latest(c.Prev, room); x < c.Window {
			return max(0, x-c.Into)
		}
	}
	return 2*c.Window - c.latest(c.Cur, quota-cost) - c.Into
}

// latest returns the largest rest of a window, at most all of it, for which the weighted part of count is
// rounded to at most room.
func (c Counts) latest(count, room int64) time.Duration {
	if count == 0 {
		return c.Window
	}
	window, n := uint64(c.Window), uint64(count)
	var left uint64
	switch c.Rounding {
	case spec.RoundUp: // count * left <= room * W
		left = uint64(room) * window / n
	case spec.RoundNearest: // 2 * count * left < (2*room + 1) * W
		left = ((2*uint64(room)+1)*window - 1) / (2 * n)
	default: // count * left < (room + 1) * W
		left = ((uint64(room)+1)*window - 1) / n
	}
	return time.Duration(min(left, window))
}

// weighted returns the weighted part of Prev, rounded to a whole number. It rounds down where the count is
// compared exactly, which leaves room for as many requests of cost 1.
func (c Counts) weighted() int64 {
	window := uint64(c.Window)
	hi, lo := bits.Mul64(uint64(c.Prev), uint64(c.Window-c.Into))
	var carry uint64
	switch c.Rounding {
	case spec.RoundUp:
		lo, carry = bits.Add64(lo, window-1, 0)
	case spec.RoundNearest:
		lo, carry = bits.Add64(lo, window/2, 0)
	}
	quotient, _ := bits.Div64(hi+carry, lo, window)
	return int64(quotient)
}
