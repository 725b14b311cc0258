package load

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	// looks is how often the recorder sees whether it runs at all, and stalledFrom how long it must have been
	// away to be told: a timer may be some 10 ms late beside a sender that spins.
	looks       = 5 * time.Millisecond
	stalledFrom = 30 * time.Millisecond
	// mostStalls is how many are told.
	mostStalls = 1000
)

// feel notes the times in which this process did not run: a machine that stood still reads late what came in
// time, also where nothing was due that would show it. look waits until it is time to look again, and returns
// false at the end.
func (r *recorder) feel(look func() bool) {
	for last := r.clock.now(); look(); {
		now := r.clock.now()
		if now-last >= stalledFrom && len(r.stalls) < mostStalls {
			r.mu.Lock()
			r.stalls = append(r.stalls, timeline.Stall{From: last, To: now})
			r.mu.Unlock()
		}
		last = now
	}
}
