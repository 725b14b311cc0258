package load

import (
	"context"
	"time"
)

// clock is the time since the start of a recording, monotonic.
type clock struct{ start time.Time }

func (c clock) now() time.Duration { return time.Since(c.start) }

// Pacer is how the sending goroutine waits for a due time: one of PrecisePacer and SleepPacer.
type Pacer interface {
	// enter is called once on the sending goroutine before its first wait, leave after its last.
	enter() (leave func())
	// wait returns true when due has come, at once if it is past, and false as soon as ctx is done or wake is
	// readable.
	wait(ctx context.Context, clk clock, due time.Duration, wake <-chan struct{}) bool
}

// SleepPacer returns a pacer that waits with timers: about a millisecond late on a real clock, exact in the
// virtual time of testing/synctest.
func SleepPacer() Pacer { return sleeper{} }

type sleeper struct{}

func (sleeper) enter() func() { return func() {} }

func (sleeper) wait(ctx context.Context, clk clock, due time.Duration, wake <-chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	return rest(ctx, due-clk.now(), wake)
}

// rest waits with a timer. It returns false if ctx or wake ended it.
func rest(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-wake:
	}
	return false
}

// PrecisePacer returns a pacer that holds on to an operating system thread, sleeps in the kernel until 150 us
// before the due time and spins for the rest. Where the pacer of a goroutine is half a millisecond late, this
// one is a few microseconds late; it keeps one processor busy where requests are due less than 150 us apart,
// and needs a second one for the answers. It does not work in virtual time.
func PrecisePacer() Pacer { return precise{margin: spin} }

const (
	// spin is how long before the due time sleeping ends. A wake-up from nanosleep takes 50 to 100 us on a
	// busy machine.
	spin = 150 * time.Microsecond
	// coarse is the wait from which on timers are used, which can be cut short; they fire up to about a
	// millisecond late.
	coarse = 4 * time.Millisecond
	early  = 3 * time.Millisecond
)

type precise struct{ margin time.Duration }

func (p precise) wait(ctx context.Context, clk clock, due time.Duration, wake <-chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	left := due - clk.now()
	if left > coarse {
		if !rest(ctx, left-early, wake) {
			return false
		}
		left = due - clk.now()
	}
	for left > p.margin {
		nap(left - p.margin)
		left = due - clk.now()
	}
	for left > 0 {
		left = due - clk.now()
	}
	return true
}
