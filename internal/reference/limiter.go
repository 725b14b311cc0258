// Package reference holds the rate limiting algorithms, pure and exact: integer arithmetic, an explicit
// clock, states that are values. One file an algorithm. It reads no clock and knows no HTTP.
package reference

import "time"

// State is what a limiter remembers of one partition: a comparable value (its dynamic type supports ==), so
// that states may be copied, compared and forgotten freely.
type State any

// Decision is what a limiter specifies for one request.
type Decision struct {
	// Allow tells whether the request is admitted.
	Allow bool
	// Delay is how long an admitted request waits before it is let through; only a queue delays.
	Delay time.Duration
	// Remaining is how many requests of cost 1 would be admitted at once right after this one, never
	// negative.
	Remaining int64
	// RetryAfter is the exact time, rounded up to the nanosecond, until a request of this cost would be
	// admitted if nothing else arrives; 0 for an admitted request, Never where no wait is long enough, or
	// where that depends on the completion of others. Charges that are still to come are not foreseen.
	RetryAfter time.Duration
	// Reset is the time until the partition is as good as new if nothing else arrives, rounded up to the
	// nanosecond; for a fixed window, until the window ends (0 where none is open); Never while requests are
	// in flight under a Concurrency.
	Reset time.Duration
}

// Never is the RetryAfter of a request that costs more than the limiter ever admits, or that waits for others
// to be complete.
const Never = time.Duration(1<<63 - 1)

// Limiter is an algorithm with its parameters. Step is pure: the same state, time and cost give the same
// result, and s is not changed. Times passed to successive steps of one partition must not decrease; a
// smaller one is taken as the largest seen, and the durations of its Decision count from that. For
// AlignClock, AlignUnknown and AlignShared `at` counts from the Unix epoch, for AlignPhase from the zero that
// the phase counts from; for all else the zero is free. Init is the state of a partition that has not been
// asked for yet; the partition is created by its first Step.
//
// A cost below 1 and a state of another limiter are programming mistakes: Step panics.
type Limiter interface {
	Init() State
	Step(s State, at time.Duration, cost int64) (State, Decision)
}
