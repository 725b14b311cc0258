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

// queue is the bound of the leaky bucket as a queue: entry is decided as by a bucket of queue+1, and
// those that wait are let through one every T. Releases lie in the intervals of the answers too, so without
// an undelayed part at most 1 + floor((y-x)/T) of them fit a span.
//
// The turn of a request is known when it is decided, so that a release that came late, of it or of the one
// before it, moves no other one. But the workers of a server that share a queue each let their requests
// through by their own clocks: one whose clock reads up to a tick less than the newest that the others have
// counted by is that much early. A turn therefore lies up to a tick after the answer at the latest, and a
// span of releases is longer by it: that costs a tick of resolution.
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

// Ticked returns a limit whose queues have the tick of the recording where they name none: their bound needs
// it.
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

// Sweep implements Sweeping.
func (q queue) Sweep() Sweep { return queueSweep{q.entry.Sweep(), q.release.Sweep()} }

type queueSweep struct{ entry, release Sweep }

// Take implements Sweep.
func (q queueSweep) Take(b Block) *Alarm {
	if a := q.entry.Take(b); a != nil {
		return a
	}
	return q.release.Take(b)
}
