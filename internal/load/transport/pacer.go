package transport

import (
	"context"
	"time"
)

// Clock is the time since the start of a recording, monotonic.
type Clock struct{ Start time.Time }

// Now is the time since Start.
func (c Clock) Now() time.Duration { return time.Since(c.Start) }

// Jumped is how far the wall clock has moved since Start beyond the monotonic clock. Both follow the same
// oscillator, so it stays zero until somebody sets the wall clock, or the computer sleeps. Linux and macOS
// stop the monotonic clock meanwhile.
func (c Clock) Jumped() time.Duration {
	now := time.Now()
	return now.Round(0).Sub(c.Start.Round(0)) - now.Sub(c.Start)
}

// Pacer is how the sending goroutine waits for a due time. Precise and Sleep return one.
type Pacer interface {
	// Enter is called once on the sending goroutine before its first wait, and leave after its last.
	Enter() (leave func())
	// Wait returns true when due has come, at once if it is past. It returns false if ctx is done or wake is
	// readable first. A precise pacer ignores both in the last 3 ms, and during a wait of at most 4 ms.
	Wait(ctx context.Context, clk Clock, due time.Duration, wake <-chan struct{}) bool
}

// SleepingPacer returns a pacer that waits with timers. It is about a millisecond late on a real clock, and
// exact in the virtual time of testing/synctest.
func SleepingPacer() Pacer { return sleeper{} }

type sleeper struct{}

func (sleeper) Enter() func() { return func() {} }

func (sleeper) Wait(ctx context.Context, clk Clock, due time.Duration, wake <-chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	return Rest(ctx, due-clk.Now(), wake)
}

// Rest waits with a timer. It returns false if ctx or wake ended the wait.
func Rest(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
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

// PrecisePacer returns a pacer that keeps its operating system thread. It sleeps in the kernel until shortly
// before the due time and spins for the rest. It is a few microseconds late, where a waiting goroutine is
// half a millisecond late. It keeps one processor busy if requests are due less than 150 us apart, and needs
// a second one for the answers. On few processors it spins for at most half of the time, since the target may
// run on them too. It does not work in virtual time.
func PrecisePacer() Pacer { return precise{margin: spin} }

const (
	// spin is how long before the due time sleeping ends. A wake-up from nanosleep takes 50 to 100 us on a
	// busy machine.
	spin = 150 * time.Microsecond
	// coarse is the wait from which on a timer is used first, because a timer can be interrupted. Timers fire
	// up to about a millisecond late, so this one is set to a time `early` before due.
	coarse     = 4 * time.Millisecond
	pacerEarly = 3 * time.Millisecond
)

// manyProcessors is how many processors there must be for a pacer that takes one of them. With fewer, a
// target on the same machine starves. At 10,000 requests a second on two busy processors, p99 of the lateness
// at the target was 2.5 ms with a pacer that always spun. It was 0.3 ms with a sparing one (the median of 60
// runs of each, in turns). Up to 5,000 a second both have the same p99.
const manyProcessors = 4

type precise struct {
	margin time.Duration
	// sparing is nil if the pacer may spin all the time. It belongs to one recorder.
	sparing *sparing
}

// sparing is the spin time of a pacer on few processors: little more than a wake-up takes on this machine
// now.
type sparing struct{ margin time.Duration }

// leastSpin is the shortest spin time of a sparing pacer.
const leastSpin = 25 * time.Microsecond

// TunedPacer returns a pacer fit for this number of processors. A precise pacer spins for less if there are
// few, and not at all if it is economical. Other pacers are returned unchanged.
func TunedPacer(p Pacer, processors int, economical bool) Pacer {
	if x, ok := p.(precise); ok {
		return x.on(processors, economical)
	}
	return p
}

// IsRealPacer tells whether a pacer uses a real clock, on which it may be late.
func IsRealPacer(p Pacer) bool {
	_, real := p.(precise)
	return real
}

// on returns p for this number of processors. On a single processor a spinning pacer would keep the readers
// from running.
func (p precise) on(processors int, economical bool) precise {
	switch {
	case economical || processors < 2:
		p.margin = 0
	case processors < manyProcessors:
		p.sparing = &sparing{p.margin}
	}
	return p
}

// before returns how long before the due time sleeping ends, given the time that is left. On few processors
// it is at most half of left: a sleep that ends late then still leaves some time to spin.
func (p precise) before(left time.Duration) time.Duration {
	if p.sparing == nil {
		return p.margin
	}
	return min(p.sparing.margin, left/2)
}

// woke adapts the spin time to how late a sleep ended. It grows at once to 5/4 of the lateness, up to spin,
// and shrinks slowly.
func (s *sparing) woke(late time.Duration) {
	if s == nil {
		return
	}
	late += late / 4
	if late < s.margin {
		late = s.margin - (s.margin-late)/32
	}
	s.margin = min(max(late, leastSpin), spin)
}

func (p precise) Wait(ctx context.Context, clk Clock, due time.Duration, wake <-chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	left := due - clk.Now()
	if left > coarse {
		if !Rest(ctx, left-pacerEarly, wake) {
			return false
		}
		left = due - clk.Now()
	}
	for margin := p.before(left); left > margin; {
		nap(left - margin)
		left = due - clk.Now()
		p.sparing.woke(margin - left)
	}
	for left > 0 {
		left = due - clk.Now()
	}
	return true
}
