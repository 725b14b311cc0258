package scenario

import (
	"math"
	"sort"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// each returns how long one of the steps lasts.
func (p *Phase) each() time.Duration { return p.Duration / time.Duration(len(p.Rates)) }

// step returns how many requests step i has.
func (p *Phase) step(i int) int { return within(p.each(), p.Rates[i]) }

// within returns how many requests of an even flow are due in d, including its beginning and excluding its
// end.
func within(d time.Duration, r spec.Rate) int {
	return int(min(MulDiv(int64(d), r.N, int64(r.Per), true), math.MaxInt32))
}

// stepTimes returns the function that says when the requests of a phase of steps are due. Request number
// Requests is due at its end.
func (p *Phase) stepTimes() func(k int) time.Duration {
	first := make([]int, len(p.Rates)+1)
	for i := range p.Rates {
		first[i+1] = first[i] + p.step(i)
	}
	return func(k int) time.Duration {
		i := sort.SearchInts(first, k+1) - 1
		if i >= len(p.Rates) {
			return p.Duration
		}
		return time.Duration(i)*p.each() + spaced(k-first[i], p.Rates[i])
	}
}

// spaced returns when request k of an even flow is due.
func spaced(k int, r spec.Rate) time.Duration {
	return time.Duration(MulDiv(int64(k), int64(r.Per), r.N, false))
}

// randomTimes returns the function that says when the requests of a poisson phase are due. They are Requests
// instants uniformly at random in its duration, in order: a Poisson process with a given number of events.
func (p *Phase) randomTimes(pl *planner) func(k int) time.Duration {
	times := make([]time.Duration, p.Requests, p.Requests+1)
	for i := range times {
		times[i] = time.Duration(pl.random.Int64N(int64(p.Duration) + 1))
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	times = append(times, p.Duration)
	return func(k int) time.Duration { return times[k] }
}
