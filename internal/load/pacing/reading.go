package pacing

import (
	"context"
	"time"
)

// Reader reads answers on a thread of its own, unless it is borrowed: then who borrowed it does, with Poll.
type Reader interface {
	// Borrow reports false where it cannot be borrowed.
	Borrow() bool
	// Poll reads what has come, or comes first within d, and tells whether something had.
	Poll(d time.Duration) bool
	Return()
}

// reading is a sparing pacer that reads answers while it waits, so that none wakes another thread:
//
//	send    yield, read, yield ...    spin    send
//	|-------------------------------|-------|-|
//
// Whoever else wants the processor gets it with each yield: the target may run there at once, and the
// processor never halts. To wake up one that has halted takes a virtual machine some 40 us.
//
// Where others keep the processor for too long it is a sparing pacer for a while, whose sleeps end soon
// however busy the machine is.
type reading struct {
	precise
	from     Reader
	borrowed bool
	// alone is from when on it may borrow again, pause how long it does not the next time.
	alone, pause time.Duration
}

const (
	// guard is how long before the due time it yields no more.
	guard = 10 * time.Microsecond
	// robbed is how late a request is where others keep the processor busy.
	robbed = 500 * time.Microsecond
	// leastPause and mostPause are for how long it does not read then: twice as long each time.
	leastPause, mostPause = 50 * time.Millisecond, 10 * time.Second
)

// Reading returns p as a pacer that reads while it waits, where that helps: on few processors. Another one is
// as it was. done is called after the last wait.
func Reading(p Pacer, from Reader) (_ Pacer, done func()) {
	x, ok := p.(precise)
	if !ok || x.sparing == nil {
		return p, func() {}
	}
	r := &reading{precise: x, from: from, pause: leastPause}
	return r, r.giveBack
}

func (r *reading) giveBack() {
	if r.borrowed {
		r.borrowed = false
		r.from.Return()
	}
}

// Wait is that of a Pacer. While it reads nothing wakes it but ctx.
func (r *reading) Wait(ctx context.Context, clk Clock, due time.Duration, wake <-chan struct{}) bool {
	if now := clk.Now(); r.borrowed && now-due > robbed {
		r.shun(now)
	} else if !r.borrowed && now >= r.alone {
		r.borrowed = r.from.Borrow()
	}
	if !r.borrowed {
		return r.precise.Wait(ctx, clk, due, wake)
	}
	r.from.Poll(0) // also where each request is late
	for left := due - clk.Now(); left > guard; left = due - clk.Now() {
		switch {
		case ctx.Err() != nil:
			return false
		case left > spin:
			r.from.Poll(min(left-spin, early))
		case !r.from.Poll(0):
			yield()
		}
	}
	for due > clk.Now() {
	}
	return ctx.Err() == nil
}

// shun lets the reader read for some time, since others keep the processor for too long.
func (r *reading) shun(now time.Duration) {
	r.giveBack()
	if now-r.alone > r.pause {
		r.pause = leastPause
	}
	r.alone, r.pause = now+r.pause, min(2*r.pause, mostPause)
}
