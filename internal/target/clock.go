package target

import (
	"context"
	"time"
)

// clock gives the limiter's time: Unix nanoseconds, read once as wall time and then following the monotonic
// clock, so that a step of the wall clock neither locks a partition nor refills it.
type clock struct {
	now   func() time.Time
	start time.Time
	zero  time.Duration
}

func newClock(now func() time.Time) *clock {
	start := now()
	return &clock{now: now, start: start, zero: time.Duration(start.UnixNano())}
}

// at returns the limiter's time now.
func (c *clock) at() time.Duration { return c.zero + c.now().Sub(c.start) }

// sleepUntil waits until the limiter's time is at, and reports whether it came that far before ctx ended.
func (c *clock) sleepUntil(ctx context.Context, at time.Duration) bool {
	wait := at - c.at()
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
