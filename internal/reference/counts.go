package reference

import (
	"math/bits"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

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
