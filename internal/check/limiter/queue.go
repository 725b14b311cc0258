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
	entry   Bucket
	release Bucket
	// late is the tick, in nanoseconds.
	late int64
}

func newQueue(p spec.Policy) queue {
	entry := NewBucket(p)
	release := entry
	release.Burst = 1 + p.Undelayed
	// less what is in front of the first
	release.StartMost = max(release.Burst-(entry.Burst-entry.StartMost), 0)
	return queue{entry, release, int64(p.Tick)}
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
	br := q.release.Over(releases(h, q.late))
	if br != nil {
		for i := range br.Events {
			br.Events[i].End -= q.late
		}
	}
	return br
}

// releases returns h with every admission at cost 1, since a request of several units is let through as one,
// and ending late nanoseconds later.
func releases(h *history.History, late int64) *history.History {
	if len(h.Admitted) == 0 || late == 0 && history.Uniform(h.Admitted) && h.Admitted[0].Cost == 1 {
		return h
	}
	one := &history.History{All: h.All, Admitted: slices.Clone(h.Admitted), AdmittedByEnd: h.AdmittedByEnd}
	for i := range one.Admitted {
		one.Admitted[i].Cost = 1
		one.Admitted[i].End += late
	}
	return one
}

func (q queue) Usage(h *history.History) Meter { return q.entry.Usage(h) }

func (q queue) Scope() Scope { return q.entry.Scope() }

func (q queue) Swept() OverSweep {
	release := newBucketOver(q.release)
	release.singly, release.late = true, q.late
	return queueOver{newBucketOver(q.entry), release}
}

// queueOver is queue.over.
type queueOver struct{ entry, release *bucketOver }

func (q queueOver) Advance(fresh, ended []history.Event, oldest, horizon int64) *Alarm {
	if a := q.entry.Advance(fresh, ended, oldest, horizon); a != nil {
		return a
	}
	return q.release.Advance(fresh, ended, oldest, horizon)
}
