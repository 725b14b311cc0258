package lab

import (
	"context"
	"time"
)

// Clock gives the limiter's time in Unix nanoseconds. It is read once as wall time, and then follows the
// monotonic clock. So a step of the wall clock neither locks a partition nor refills it.
type Clock struct {
	now   func() time.Time
	start time.Time
	// Zero is the time at which the clock was made.
	Zero time.Duration
}

// NewClock reads now once as wall time.
func NewClock(now func() time.Time) *Clock {
	start := now()
	return &Clock{now: now, start: start, Zero: time.Duration(start.UnixNano())}
}

// At returns the limiter's time now.
func (c *Clock) At() time.Duration { return c.Zero + c.now().Sub(c.start) }

// SleepUntil waits until the limiter's time is at. It returns false if ctx ended before.
func (c *Clock) SleepUntil(ctx context.Context, at time.Duration) bool {
	wait := at - c.At()
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
