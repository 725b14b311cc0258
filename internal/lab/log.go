package lab

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// CollidingLog is a log of admissions that keeps each under its millisecond, and therefore only one for each
// millisecond.
type CollidingLog struct {
	Quota  int64
	Window time.Duration
}

// collidingState are the milliseconds of the log, ascending. It is never written to.
type collidingState []time.Duration

// Init returns the state of a partition never seen.
func (l CollidingLog) Init() reference.State { return collidingState(nil) }

// Step admits what the entries of the last window leave room for. A second entry of a millisecond is not
// added.
func (l CollidingLog) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	log := s.(collidingState)
	live := log[min(len(log), lowest(log, at-l.Window)):]
	d := reference.Decision{Allow: int64(len(live))+cost <= l.Quota, Reset: l.Window}
	if !d.Allow {
		d.RetryAfter = l.Window
		if len(live) > 0 {
			d.RetryAfter = live[0] + l.Window - at + time.Millisecond
		}
	} else if ms := at.Truncate(time.Millisecond); len(live) == 0 || live[len(live)-1] != ms {
		live = append(slices.Clone(live), ms)
	}
	d.Remaining = max(0, l.Quota-int64(len(live)))
	return live, d
}

// lowest returns the index of the first entry after t.
func lowest(log collidingState, t time.Duration) int {
	i, _ := slices.BinarySearch(log, t+1)
	return i
}
