package reference

import "time"

// State is what a limiter remembers of one partition. It is a comparable value (its dynamic type supports
// ==), so states may be copied, compared and forgotten freely.
type State any

// Decision is what a limiter specifies for one request.
type Decision struct {
	// Allow tells whether the request is admitted.
	Allow bool
	// Delay is how long an admitted request waits before it is let through. Only a queue delays.
	Delay time.Duration
	// Remaining is how many requests of cost 1 would be admitted at once right after this one, if each were
	// complete at once. It is never negative. A reserve takes nothing from it.
	Remaining int64
	// RetryAfter is the exact time, rounded up to the nanosecond, until a request of this cost would be
	// admitted if nothing else arrives. It is 0 for an admitted request. It is Never if no wait is long
	// enough, or if that depends on the completion of others. It does not foresee charges that are still to
	// come.
	RetryAfter time.Duration
	// Reset is the time, rounded up to the nanosecond, until the partition is as good as new if nothing else
	// arrives. For a fixed window it is the time until the window ends, or 0 where none is open. It is Never
	// while requests are in flight under a Concurrency.
	Reset time.Duration
}

// Never is the RetryAfter of a request that costs more than the limiter ever admits, or that waits for the
// completion of others.
const Never = time.Duration(1<<63 - 1)

// Limiter is an algorithm with its parameters. Step is pure: the same state, time and cost give the same
// result, and s is not changed. Init returns the state of a partition without requests so far. The first Step
// creates the partition.
//
// Times passed to successive steps of one partition must not decrease. A smaller time is taken as the largest
// seen, and the durations of its Decision count from there. For AlignClock, AlignUnknown and AlignShared, at
// counts from the Unix epoch. For AlignPhase it counts from the zero that the phase counts from. For all else
// the zero is free.
//
// A cost below 1, or a state of another limiter, is a programming mistake: Step panics. A policy with
// ChargeCompletion does not read the cost before Complete.
type Limiter interface {
	Init() State
	Step(s State, at time.Duration, cost int64) (State, Decision)
}
