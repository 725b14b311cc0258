package transport

import (
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// tallies count requests and connections.
type tallies struct {
	// opened counts the connections ever opened, linked the links ever opened.
	sent, opened, linked atomic.Int64
	counts               [3]atomic.Int64
	// astray counts answers 404 and 410 that are neither admissions nor denials.
	astray   atomic.Int64
	answered atomic.Bool
	// slowest is the longest time that opening a connection took, openings the sum of these times, in
	// nanoseconds.
	slowest, openings atomic.Int64
}

// Counts returns how many requests were sent, and how many are over, by outcome.
func (t *tallies) Counts() (sent int, over [3]int) {
	for i := range over {
		over[i] = int(t.counts[i].Load())
	}
	return int(t.sent.Load()), over
}

// Silent tells whether requests are over and none was ever answered.
func (t *tallies) Silent() bool {
	return !t.answered.Load() && t.counts[timeline.Unknown].Load() > 0
}

// leastAstray is how many answers show that a target does not know a path. One that starts soon answers
// otherwise.
const leastAstray = 20

// Astray tells whether requests are over, and the target did not know the path of any of them.
func (t *tallies) Astray() bool {
	n := t.astray.Load()
	return n >= leastAstray && t.counts[timeline.Allowed].Load()+t.counts[timeline.Denied].Load() == 0 &&
		n == t.counts[timeline.Unknown].Load()
}

// Opened returns how many connections were ever opened.
func (t *tallies) Opened() int { return int(t.opened.Load()) }

// MeanOpening is how long it took on average to open a connection. It is 0 if none was opened yet.
func (t *tallies) MeanOpening() time.Duration {
	return time.Duration(t.openings.Load() / max(t.opened.Load(), 1))
}
