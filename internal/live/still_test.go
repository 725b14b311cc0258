package live

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/report"
)

// HAProxy takes it for a jump of the clock when more than 100 ms pass beyond the time it meant to sleep, and leaves them out
// of its own time (src/clock.c of 2.6, clock_update_date): on a machine that stands still its periods are longer than
// declared, and the judge says so. A run in which something stood still for stoodStill tells nothing of the algorithm.
const stoodStill = 90 * time.Millisecond

// longestWait is the longest that a request was late or waited for its answer.
func longestWait(r *report.Scenario) time.Duration {
	var longest time.Duration
	if r.Timeline == nil {
		return 0
	}
	for _, o := range r.Timeline.Observations {
		longest = max(longest, o.Sent-o.At, o.FirstByte-o.Sent)
	}
	return longest
}

// watcher sleeps a millisecond at a time and notices how long it really was.
type watcher struct {
	stop  chan struct{}
	worst chan time.Duration
}

func watch() *watcher {
	w := &watcher{make(chan struct{}), make(chan time.Duration)}
	go func() {
		worst, last := time.Duration(0), time.Now()
		for {
			select {
			case <-w.stop:
				w.worst <- worst
				return
			case <-time.After(time.Millisecond):
				now := time.Now()
				worst, last = max(worst, now.Sub(last)), now
			}
		}
	}()
	return w
}

func (w *watcher) longest() time.Duration {
	close(w.stop)
	return <-w.worst
}
