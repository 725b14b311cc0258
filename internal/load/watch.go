package load

import (
	"context"
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/pacing"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// watch closes connections whose request in flight has timed out. No timer is touched for a request: all have
// the same time-out, so after a look nothing sent later expires before now + Timeout. Where this process
// stood still, an answer may have come in time and wait to be read: nothing is closed before that was
// possible.
//
//	sent        answer comes      time-out     the look is late    read       the next look
//	|----------------|== this process stands still ==|-------- unread --------------|
func (r *recorder) watch(ctx context.Context) {
	var lost time.Duration // when it was seen that requests were lost, and none answered
	due, spared := r.expire(), 0
	for pacing.Rest(ctx, due-r.clock.Now(), nil) {
		now := r.clock.Now()
		if spared < mostSpared && r.stalls.Now(due, now, unread) {
			due, spared = now+unread, spared+1
			continue
		}
		switch {
		case r.answered.Load() || r.counts[timeline.Unknown].Load() == 0:
		case lost == 0:
			lost = now
		case now-lost >= unansweredFor: // clients of a closed phase would ask for hours
			r.halt(fmt.Sprintf("stopped: no request was answered in %v", now))
		}
		due, spared = r.expire(), 0
	}
}

const (
	// unread is how long after a stall an answer that came meanwhile may wait to be read.
	unread = 100 * time.Millisecond
	// mostSpared is how many looks in a row may close nothing: a busy machine stands still all the time.
	mostSpared = 5
)

// unansweredFor is how long a phase goes on while requests are lost and none was ever answered.
const unansweredFor = 10 * time.Second

// expire closes what has timed out and returns when to look again.
func (r *recorder) expire() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	next := now + r.o.Timeout
	for c := range r.live {
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

// progressEvery is how often progress is told.
const progressEvery = 100 * time.Millisecond

// tell calls Options.Progress now and then, and once more at the end.
func (r *recorder) tell(ctx context.Context) {
	planned, _ := r.s.Planned()
	for {
		more := pacing.Rest(ctx, progressEvery, nil)
		p := Progress{
			Allowed: int(r.counts[timeline.Allowed].Load()), Denied: int(r.counts[timeline.Denied].Load()),
			Unknown: int(r.counts[timeline.Unknown].Load()), Sent: int(r.sent.Load()), Planned: planned,
			Late: time.Duration(r.latest.Load()),
		}
		if name := r.name.Load(); name != nil {
			p.Phase = *name
		}
		r.o.Progress(p)
		if !more {
			return
		}
	}
}
