package transport

import (
	"context"
	"time"
)

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
