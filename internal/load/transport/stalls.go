package transport

import (
	"context"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	// looks is how often this process checks whether it runs at all. stalledFrom is the shortest gap that
	// counts as a stall: a timer may be some 10 ms late beside a sender that spins.
	looks       = 5 * time.Millisecond
	stalledFrom = 30 * time.Millisecond
	// mostStalls is the most stalls that are kept.
	mostStalls = 1000
)

// Stalls are the times in which this process did not run. Any goroutine may use it.
type Stalls struct {
	mu   sync.Mutex
	list []timeline.Stall
}

// Watch notes the stalls until ctx ends. A process that stood still reads late what arrived in time, also
// where no request was due that would show it.
func (s *Stalls) Watch(ctx context.Context, clock Clock) {
	s.feel(clock, func() bool { return Rest(ctx, looks, nil) })
}

// feel is Watch. look waits until the next check, and returns false at the end.
func (s *Stalls) feel(clock Clock, look func() bool) {
	for last := clock.Now(); look(); {
		now := clock.Now()
		if now-last >= stalledFrom {
			s.Add(timeline.Stall{From: last, To: now})
		}
		last = now
	}
}

// Add notes a stall that came after all others. It keeps the first thousand.
func (s *Stalls) Add(x timeline.Stall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) < mostStalls {
		s.list = append(s.list, x)
	}
}

// All returns the stalls so far, in ascending order. The caller must not change the slice.
func (s *Stalls) All() []timeline.Stall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// Now tells whether this process is stalled, or was stalled less than soLong ago. A check that was due and
// comes at least 30 ms late shows a stall in progress.
func (s *Stalls) Now(due, now, soLong time.Duration) bool {
	all := s.All()
	n := len(all)
	return now-due >= stalledFrom || n > 0 && now-all[n-1].To < soLong
}

// Jump is the least jump of the wall clock that tells of a sleep.
const Jump = 100 * time.Millisecond

// AuditSlept tells whether the wall clock has jumped. It looks twice, as a reader may be stopped between its
// readings of the two clocks. jumped is Clock.Jumped, except in tests.
func AuditSlept(jumped func() time.Duration) bool {
	first, second := jumped(), jumped()
	return min(first.Abs(), second.Abs()) >= Jump
}

// Asleep waits until this computer has slept, or its clock was set, and returns the last time that is known
// to be before. It reports false if ctx ends first.
func Asleep(ctx context.Context, clock Clock, jumped func() time.Duration) (time.Duration, bool) {
	for before, more := clock.Now(), true; more; {
		more = Rest(ctx, looks, nil)
		now := clock.Now()
		if AuditSlept(jumped) {
			return before, true
		}
		before = now
	}
	return 0, false
}
