package transport

import (
	"context"
	"time"
)

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
