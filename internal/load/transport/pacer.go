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

// Reader reads answers on a thread of its own, unless it is borrowed. The borrower reads them with Poll.
type Reader interface {
	Borrow()
	// Poll reads what has arrived, or waits up to d for the first arrival. It tells whether there was
	// anything.
	Poll(d time.Duration) bool
	Return()
}

// pacerReading is a sparing pacer that reads answers while it waits, so that no answer wakes another thread:
//
//	send    yield, read, yield ...    spin    send
//	|-------------------------------|-------|-|
//
// Each yield gives the processor to any other thread that wants it. So the target may run there at once, and
// the processor never halts. Waking a halted processor takes a virtual machine some 40 us.
//
// If others keep the processor for too long, it becomes a sparing pacer for a while. The sleeps of that pacer
// end soon, however busy the machine is.
type pacerReading struct {
	precise
	from     Reader
	borrowed bool
	// alone is the time from which on it may borrow again. pause is the length of the next pause without
	// reading.
	alone, pause time.Duration
}

const (
	// guard is how long before the due time it stops to yield.
	guard = 10 * time.Microsecond
	// robbed is the lateness of a request that shows that others keep the processor busy.
	robbed = 500 * time.Microsecond
	// leastPause and mostPause bound how long it then stops reading: twice as long each time.
	leastPause, mostPause = 50 * time.Millisecond, 10 * time.Second
)

// ReadingPacer returns p as a pacer that reads while it waits, if that helps: on few processors. Other pacers
// are returned unchanged. done must be called after the last wait.
func ReadingPacer(p Pacer, from Reader) (_ Pacer, done func()) {
	x, ok := p.(precise)
	if !ok || x.sparing == nil {
		return p, func() {}
	}
	r := &pacerReading{precise: x, from: from, pause: leastPause}
	return r, r.giveBack
}

func (r *pacerReading) giveBack() {
	if r.borrowed {
		r.borrowed = false
		r.from.Return()
	}
}

// Wait is that of a Pacer. While it reads, only ctx ends the wait early, not wake.
func (r *pacerReading) Wait(ctx context.Context, clk Clock, due time.Duration, wake <-chan struct{}) bool {
	if now := clk.Now(); r.borrowed && now-due > robbed {
		r.shun(now)
	} else if !r.borrowed && now >= r.alone {
		r.from.Borrow()
		r.borrowed = true
	}
	if !r.borrowed {
		return r.precise.Wait(ctx, clk, due, wake)
	}
	r.from.Poll(0) // at least once, also if every request is late
	for left := due - clk.Now(); left > guard; left = due - clk.Now() {
		switch {
		case ctx.Err() != nil:
			return false
		case left > spin:
			r.from.Poll(min(left-spin, pacerEarly))
		case !r.from.Poll(0):
			yield()
		}
	}
	for due > clk.Now() {
	}
	return ctx.Err() == nil
}

// shun gives the reader back for some time, since others keep the processor for too long.
func (r *pacerReading) shun(now time.Duration) {
	r.giveBack()
	if now-r.alone > r.pause {
		r.pause = leastPause
	}
	r.alone, r.pause = now+r.pause, min(2*r.pause, mostPause)
}
