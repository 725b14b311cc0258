package live

import (
	"fmt"
	"testing"
	"time"
)

// HAProxy takes it for a jump of the clock when more than 100 ms pass beyond the time it meant to sleep, and leaves them out
// of its own time for good (src/clock.c of 2.6, clock_update_date): on a machine that stands still its periods are longer
// than declared, and the judge is right to say so. A FAIL from a run in which the machine stood still for stoodStill says
// nothing of the algorithm. It is less than 100 ms, since the watcher is not HAProxy.
const stoodStill = 50 * time.Millisecond

// watch returns a function that tells how long a process that is as idle as a server had to wait for a processor since.
func watch(t testing.TB) (longest func() time.Duration) {
	t.Helper()
	end := aside(t, "watch")
	return func() time.Duration {
		var ns int64
		if _, err := fmt.Sscan(end(), &ns); err != nil {
			t.Fatalf("the watcher: %v", err)
		}
		return time.Duration(ns)
	}
}

// sleep sleeps a millisecond at a time until over is closed, and prints how long the longest one was, in nanoseconds.
func sleep(over <-chan struct{}) {
	worst, last := time.Duration(0), time.Now()
	for {
		select {
		case <-over:
			fmt.Println(worst.Nanoseconds())
			return
		default:
			time.Sleep(time.Millisecond)
			now := time.Now()
			worst, last = max(worst, now.Sub(last)), now
		}
	}
}
