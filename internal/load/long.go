package load

import (
	"math"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// LongRecording is the number of requests up to which a recording stays in memory. A longer one goes to a
// timeline.Spool, if there is Options.Spill. A quarter of LongRecording then stands for its beginning.
const LongRecording = 200_000

// PackedRecording is the most requests of a recording that is kept as text: about a gigabyte. A recording
// that may have more is compressed while it is made.
const PackedRecording = 2_000_000

// atMost returns the most requests that a schedule may send. A phase that ends by its duration alone counts
// as math.MaxInt32 requests.
func atMost(s *timeline.Schedule, o *Options) int {
	most := 0
	for i := range s.Phases {
		switch p := &s.Phases[i]; p.Shape {
		case timeline.Closed, timeline.HonorRetryAfter, timeline.Backoff:
			if most += p.Requests; p.Requests == 0 {
				most += math.MaxInt32
			}
		default:
			most += p.Count()
		}
	}
	if o.MaxRequests > 0 {
		most = min(most, o.MaxRequests)
	}
	return most
}

// gated returns the names of the phases in which a gated request was answered. A long recording is sorted
// while it is made, so the left ends of intervals cannot be moved here.
func (r *recorder) gated() map[string]bool {
	names := map[string]bool{}
	for _, p := range r.phases {
		for i := range p.fixed {
			if _, ok := p.fixed[i].Armed(); ok {
				names[p.plan.Name] = true
			}
		}
	}
	return names
}

// unroll takes the observations from the journal: all of them if they are few, or their beginning.
func (r *recorder) unroll(tl *timeline.Timeline, spoken string) {
	s := r.journal.Finish().From(firstFree(r.s))
	if spoken != "" || r.o.Told != nil || r.net.Doubtful() || r.net.Hasty() {
		gated := r.gated()
		s = s.With(func(o *timeline.Observation) {
			transport.CauseReword(o, spoken)
			r.net.Doubt(o)
			r.untold(o)
			if r.net.Hasty() && gated[o.Phase] && o.Answered {
				transport.Forget(o, transport.CauseEarly)
			}
		})
	}
	tl.Unroll(s, r.most)
	if err := s.Err(); err != nil {
		r.lost = true
		r.net.Note("requests of the recording are lost: %s", transport.CausePlain(err))
	}
}
