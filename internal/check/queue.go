package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// queue is the bound of the leaky bucket as a queue: who may enter is decided as by a bucket of queue+1, and
// those that wait are let through one every T. Releases lie in the intervals of the answers too, so without
// an undelayed part at most 1 + floor((y-x)/T) of them fit a span.
//
// The turn of a request is known when it is decided, so that a release that came late, of it or of the one
// before it, moves no other one. But the workers of a server that share a queue each let their requests
// through by their own clocks: one whose clock reads up to a tick less than the newest that the others have
// counted by is that much early. A turn therefore lies up to a tick after the answer at the latest, and a
// span of releases is longer by it: that costs a tick of resolution.
type queue struct {
	entry   bucket
	release bucket
	// late is the tick, in nanoseconds.
	late int64
}

func newQueue(p spec.Policy) queue {
	entry := newBucket(p)
	release := entry
	release.burst = 1 + p.Undelayed
	// less what is in front of the first
	release.startMost = max(release.burst-(entry.burst-entry.startMost), 0)
	return queue{entry, release, int64(p.Tick)}
}

// ticked returns a limit whose queues have the tick of the recording where they name none: their bound needs
// it.
func ticked(limit spec.Limit, h timeline.Header) spec.Limit {
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

func (q queue) over(h *history) *breach {
	if br := q.entry.over(h); br != nil {
		return br
	}
	br := q.release.over(releases(h, q.late))
	if br != nil {
		for i := range br.events {
			br.events[i].e -= q.late
		}
	}
	return br
}

// releases returns h with every admission at cost 1, since a request of several units is let through as one,
// and ending late nanoseconds later.
func releases(h *history, late int64) *history {
	if len(h.admitted) == 0 || late == 0 && uniform(h.admitted) && h.admitted[0].cost == 1 {
		return h
	}
	one := &history{all: h.all, admitted: slices.Clone(h.admitted), admittedByEnd: h.admittedByEnd}
	for i := range one.admitted {
		one.admitted[i].cost = 1
		one.admitted[i].e += late
	}
	return one
}

func (q queue) usage(h *history) meter { return q.entry.usage(h) }

func (q queue) scope() scope { return q.entry.scope() }

func (q queue) swept() overSweep {
	release := newBucketOver(q.release)
	release.singly, release.late = true, q.late
	return queueOver{newBucketOver(q.entry), release}
}

// queueOver is queue.over.
type queueOver struct{ entry, release *bucketOver }

func (q queueOver) advance(fresh, ended []event, oldest, horizon int64) *alarm {
	if a := q.entry.advance(fresh, ended, oldest, horizon); a != nil {
		return a
	}
	return q.release.advance(fresh, ended, oldest, horizon)
}
