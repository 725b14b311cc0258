package timeline

import (
	"math"
	"time"
)

// Retry is how a client retries after a denial. The policies are those of client libraries. The wait before
// retry n (from 1) of a client is
//
//	fixed        Base
//	exponential  Base * 2^(n-1), at most Max
//	retry-after  what the denial says, Base if it says nothing
//
// With Jitter it is a uniformly random share of that (for retry-after: up to Base more).
type Retry struct {
	Policy RetryPolicy   `json:"policy,omitempty"`
	Base   time.Duration `json:"base_ns,omitempty"`
	Max    time.Duration `json:"max_ns,omitempty"`
	Jitter bool          `json:"jitter,omitempty"`
	// Budget is how many retries all clients together may send, in percent of their first requests; 0: no
	// bound. A client without a retry left gives up.
	Budget int `json:"budget_percent,omitempty"`
	// Breaker is the number of denials in a row, over all clients, after which nobody sends for Open. Then
	// one client tries. 0: no breaker.
	Breaker int           `json:"breaker,omitempty"`
	Open    time.Duration `json:"open_ns,omitempty"`
	// Seed makes the random waits repeatable.
	Seed uint64 `json:"seed,omitempty"`
}

// RetryPolicy names how long a client waits.
type RetryPolicy string

// The policies.
const (
	RetryFixed       RetryPolicy = "fixed"
	RetryExponential RetryPolicy = "exponential"
	RetryAsTold      RetryPolicy = "retry-after"
)

// Wait returns how long a client waits before its next try, after so many denials in a row. told is what
// Retry-After said, if it said anything. share returns a random part of a duration, for jitter.
func (r *Retry) Wait(
	failures int, told time.Duration, isTold bool, share func(time.Duration) time.Duration,
) time.Duration {
	wait := r.Base
	switch r.Policy {
	case RetryExponential:
		if shift := failures - 1; shift < 62 && wait <= math.MaxInt64>>shift {
			wait <<= shift
		} else {
			wait = math.MaxInt64
		}
		wait = min(wait, max(r.Max, r.Base))
	case RetryAsTold:
		if isTold {
			if r.Jitter {
				told += share(r.Base)
			}
			return told
		}
	}
	if r.Jitter {
		return share(wait)
	}
	return wait
}
