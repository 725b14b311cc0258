package transport

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Watch closes connections whose request in flight has timed out. It sets no timer for each request. All
// requests have the same time-out, so nothing sent after a look expires before that look + Timeout. If this
// process stood still, an answer may have arrived in time and wait to be read. Then nothing is closed until
// it could have been read.
//
//	sent        answer comes      time-out     the look is late    read       the next look
//	|----------------|== this process stands still ==|-------- unread --------------|
func (t *Transport) Watch(ctx context.Context, stalls *Stalls) {
	if !t.o.HTTP2 { // an idle stream holds no thread
		var relief sync.WaitGroup
		relief.Go(func() { t.relieve(ctx) })
		defer relief.Wait()
	}
	var lost time.Duration // when requests were first seen lost, with none answered
	due, spared := t.expire(), 0
	for Rest(ctx, due-t.clock.Now(), nil) {
		now := t.clock.Now()
		if spared < mostSpared && stalls.Now(due, now, unread) {
			due, spared = now+unread, spared+1
			continue
		}
		switch {
		case !t.Silent():
		case lost == 0:
			lost = now
		case now-lost >= unansweredFor: // else clients of a closed phase would ask for hours
			t.Halt(fmt.Sprintf("stopped: no request was answered in %v", now))
		}
		due, spared = t.expire(), 0
	}
}

const (
	// unread is how long after a stall an answer that arrived meanwhile may wait to be read.
	unread = 100 * time.Millisecond
	// mostSpared is how many looks in a row may close nothing. Without this bound, a busy machine that stalls
	// all the time would never time out.
	mostSpared = 5
)

// unansweredFor is how long a phase goes on while requests are lost and none was ever answered.
const unansweredFor = 10 * time.Second

// expire closes what has timed out and returns when to look again.
func (t *Transport) expire() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	next := now + t.o.Timeout
	for c := range t.live {
		switch at := c.expires.Load(); {
		case at <= 0:
		case time.Duration(at) > now:
			next = min(next, time.Duration(at))
		case c.expires.CompareAndSwap(at, expired):
			c.hangUp()
		}
	}
	return next
}
