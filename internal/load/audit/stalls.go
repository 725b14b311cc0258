package audit

import (
	"context"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/pacing"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	// looks is how often this process sees whether it runs at all, and stalledFrom how long it must have been
	// away to be told: a timer may be some 10 ms late beside a sender that spins.
	looks       = 5 * time.Millisecond
	stalledFrom = 30 * time.Millisecond
	// mostStalls is how many are told.
	mostStalls = 1000
)

// Stalls are the times in which this process did not run. It may be asked from any goroutine.
type Stalls struct {
	mu   sync.Mutex
	list []timeline.Stall
}

// Watch notes the stalls until ctx ends: a machine that stood still reads late what came in time, also where
// nothing was due that would show it.
func (s *Stalls) Watch(ctx context.Context, clock pacing.Clock) {
	s.feel(clock, func() bool { return pacing.Rest(ctx, looks, nil) })
}

// feel is Watch. look waits until it is time to look again, and returns false at the end.
func (s *Stalls) feel(clock pacing.Clock, look func() bool) {
	for last := clock.Now(); look(); {
		now := clock.Now()
		if now-last >= stalledFrom {
			s.Add(timeline.Stall{From: last, To: now})
		}
		last = now
	}
}

// Add notes a stall that came after all others, the first thousand.
func (s *Stalls) Add(x timeline.Stall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) < mostStalls {
		s.list = append(s.list, x)
	}
}

// All returns those so far, in their order. It is not to be changed.
func (s *Stalls) All() []timeline.Stall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// Now tells whether this process does not run as it should, or has not for less than so long: what was due
// comes late, or the last stall is not over for long.
func (s *Stalls) Now(due, now, soLong time.Duration) bool {
	all := s.All()
	n := len(all)
	return now-due >= stalledFrom || n > 0 && now-all[n-1].To < soLong
}
