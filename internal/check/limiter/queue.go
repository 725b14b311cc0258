package limiter

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var queueKind = kind{
	fits: spec.Policy.Queued,
	bound: func(p spec.Policy, _ history.Interval, _ bool) Bound {
		return newQueue(p)
	},
	model: func(p spec.Policy, _ history.Interval, _ []int64) Model {
		return newRefillModel(p)
	},
}

// queue is the bound of the leaky bucket as a queue. A bucket of queue+1 units decides the entry. Requests in
// the queue are released one every T. A release lies in the interval of the answer too. So a span has at most
// 1 + floor((y-x)/T) releases, plus the undelayed part.
//
// The turn of a request is fixed when it is decided, so a late release moves no other release. But several
// workers may share a queue, each with its own clock. A worker whose clock reads up to a tick less than the
// newest clock releases its requests that much early. So a turn may lie up to a tick after the answer, and a
// span of releases is longer by a tick. That costs a tick of resolution.
type queue struct{ entry, release Bucket }

func newQueue(p spec.Policy) queue {
	entry := NewBucket(p)
	release := entry
	release.Burst = 1 + p.Undelayed
	// less the requests in front of the first
	release.StartMost = max(release.Burst-(entry.Burst-entry.StartMost), 0)
	release.singly, release.late = true, int64(p.Tick)
	return queue{entry, release}
}

// Ticked returns limit with the tick of the recording for each queue that names no tick. Their bound needs a
// tick.
func Ticked(limit spec.Limit, h timeline.Header) spec.Limit {
	unticked := func(p spec.Policy) bool { return p.Queued() && !p.TickSet }
	if h.Tick == 0 || !slices.ContainsFunc(limit, unticked) {
		return limit
	}
	limit = slices.Clone(limit)
	for i := range limit {
		if p := &limit[i]; unticked(*p) {
			p.Tick = h.Tick
		}
	}
	return limit
}

func (q queue) Over(h *history.History) *Breach {
	if br := q.entry.Over(h); br != nil {
		return br
	}
	return q.release.Over(h)
}

func (q queue) Usage(h *history.History) Meter { return q.entry.Usage(h) }

func (q queue) Scope() Scope { return q.entry.Scope() }
