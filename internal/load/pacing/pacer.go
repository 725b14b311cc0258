// Package pacing is the clock of a recording, and how the one who sends waits for a due time.
package pacing

import (
	"context"
	"time"
)

// Clock is the time since the start of a recording, monotonic.
type Clock struct{ Start time.Time }

// Now is the time since Start.
func (c Clock) Now() time.Duration { return time.Since(c.Start) }

// Pacer is how the sending goroutine waits for a due time: one of Precise and Sleep.
type Pacer interface {
	// Enter is called once on the sending goroutine before its first wait, leave after its last.
	Enter() (leave func())
	// Wait returns true when due has come, at once if it is past, and false as soon as ctx is done or wake is
	// readable.
	Wait(ctx context.Context, clk Clock, due time.Duration, wake <-chan struct{}) bool
}

// Sleep returns a pacer that waits with timers: about a millisecond late on a real clock, exact in the
// virtual time of testing/synctest.
func Sleep() Pacer { return sleeper{} }

type sleeper struct{}

func (sleeper) Enter() func() { return func() {} }

func (sleeper) Wait(ctx context.Context, clk Clock, due time.Duration, wake <-chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	return Rest(ctx, due-clk.Now(), wake)
}

// Rest waits with a timer. It returns false if ctx or wake ended it.
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

// Precise returns a pacer that holds on to an operating system thread, sleeps in the kernel until
// shortly before the due time and spins for the rest. Where the pacer of a goroutine is half a millisecond
// late, this one is a few microseconds late. It keeps one processor busy where requests are due less than
// 150 us apart, and needs a second one for the answers. On few processors it spins for at most half of the
// time: the target may run on them too. It does not work in virtual time.
func Precise() Pacer { return precise{margin: spin} }

const (
	// spin is how long before the due time sleeping ends. A wake-up from nanosleep takes 50 to 100 us on a
	// busy machine.
	spin = 150 * time.Microsecond
	// coarse is the wait from which on timers are used, which can be cut short; they fire up to about a
	// millisecond late.
	coarse = 4 * time.Millisecond
	early  = 3 * time.Millisecond
)

// manyProcessors is how many there must be for a pacer that takes one of them: the target may run on the
// others, and starves where there are too few. At 10,000 requests a second on two busy ones, p99 of the
// lateness at the target was 2.5 ms with a pacer that spun all the time and 0.3 ms with a sparing one (the
// median of 60 runs of each, in turns). Up to 5,000 a second both have the same.
const manyProcessors = 4

type precise struct {
	margin time.Duration
	// sparing is nil where the pacer may spin all the time. It belongs to one recorder.
	sparing *sparing
}

// sparing is the margin of a pacer on few processors: little more than what waking up takes here and now.
type sparing struct{ margin time.Duration }

// leastSpin is the least margin.
const leastSpin = 25 * time.Microsecond

// Tuned is a pacer on so many processors: a precise one spins for less where they are few, and not at all
// where it is economical. Another one is as it was.
func Tuned(p Pacer, processors int, economical bool) Pacer {
	if x, ok := p.(precise); ok {
		return x.on(processors, economical)
	}
	return p
}

// Real tells whether a pacer keeps to a real clock, on which it may be late.
func Real(p Pacer) bool {
	_, real := p.(precise)
	return real
}

// on is p on so many processors. With one a pacer that spins would keep the readers from running.
func (p precise) on(processors int, economical bool) precise {
	switch {
	case economical || processors < 2:
		p.margin = 0
	case processors < manyProcessors:
		p.sparing = &sparing{p.margin}
	}
	return p
}

// before returns how long before the due time sleeping ends, where so long is left: on few processors at most
// half of that, as a sleep that ends late still leaves some of the rest.
func (p precise) before(left time.Duration) time.Duration {
	if p.sparing == nil {
		return p.margin
	}
	return min(p.sparing.margin, left/2)
}

// woke takes in how much later than asked for a sleep has ended.
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
		if !Rest(ctx, left-early, wake) {
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
