package check

import "github.com/rlcheck/rlcheck/internal/reference"

// queue is the bound of the leaky bucket as a queue: who may enter is decided as by a bucket of queue+1, and those that
// wait are let through one every T. Releases lie in the intervals of the answers too, so without an undelayed part at
// most 1 + floor((y-x)/T) of them fit a span.
type queue struct {
	entry   bucket
	release bucket
}

func newQueue(p reference.Policy) queue {
	entry := newBucket(p)
	release := entry
	release.burst = 1 + p.Undelayed
	return queue{entry, release}
}

func (q queue) over(h *history) *breach {
	if br := q.entry.over(h); br != nil {
		return br
	}
	return q.release.over(h)
}

func (q queue) usage(h *history) meter { return q.entry.usage(h) }

func (q queue) memory() int64 { return q.entry.memory() }

func (q queue) full() int64 { return q.entry.full() }

func (q queue) countsAll() bool { return q.entry.all }
