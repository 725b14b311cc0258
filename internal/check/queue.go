package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/reference"
)

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
	return q.release.over(h.singly())
}

// singly returns h with every admission at cost 1: a request of several units is let through as one.
func (h *history) singly() *history {
	if len(h.admitted) == 0 || uniform(h.admitted) && h.admitted[0].cost == 1 {
		return h
	}
	one := &history{admitted: slices.Clone(h.admitted), admittedByEnd: h.admittedByEnd}
	for i := range one.admitted {
		one.admitted[i].cost = 1
	}
	return one
}

func (q queue) usage(h *history) meter { return q.entry.usage(h) }

func (q queue) memory() int64 { return q.entry.memory() }

func (q queue) full() int64 { return q.entry.full() }

func (q queue) countsAll() bool { return q.entry.all }
