package reference

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"time"
)

// concurrency admits a request while the units in flight, its own included, are at most the limit. An
// admitted request holds its units from its decision until its completion, of which the limiter is told
// (Complete). Time alone changes nothing.
//
//	in flight    |--- a ---------|        |- d
//	                |- b --|   |-- c --------|      limit 2: c is admitted after b is complete
type concurrency struct{ limit int64 }

// placesState holds the units in flight, and the largest time seen.
type placesState struct {
	last time.Duration
	held int64
}

// newConcurrency returns the limiter of requests in flight that p specifies.
func newConcurrency(p spec.Policy) *concurrency { return &concurrency{p.Rate.N} }

func (c *concurrency) open(at time.Duration) placesState { return placesState{last: at} }

func (c *concurrency) advance(s placesState, at time.Duration) placesState {
	s.last = max(s.last, at)
	return s
}

func (c *concurrency) wait(s placesState, cost int64) time.Duration {
	if cost > c.limit-s.held {
		return Never
	}
	return 0
}

func (c *concurrency) charge(s placesState, cost int64, allow bool) (placesState, time.Duration) {
	if allow {
		s.held += cost
	}
	return s, 0
}

func (c *concurrency) view(s placesState) (int64, time.Duration) {
	if s.held > 0 {
		return c.limit - s.held, Never
	}
	return c.limit, 0
}

// complete gives back the units of a request.
func (c *concurrency) complete(s placesState, cost int64) placesState {
	s.held -= min(cost, s.held)
	return s
}
