package scenario

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A ramp goes from rate f to rate g within D. After t it has sent n(t) = f*t + (g-f)*t*t/(2*D) requests;
// request k is due at the t with n(t) = k.

// rampCount returns n(D) = (f+g)*D/2, rounded up.
func rampCount(from, to spec.Rate, whole time.Duration) float64 {
	return math.Ceil((from.PerSecond()+to.PerSecond())*whole.Seconds()/2 - 1e-9)
}

// rampAt returns when request k is due. The root is taken in the form that does not cancel: 2k/(f + sqrt(f*f
// + 2ak)) with a = (g-f)/D.
func rampAt(from, to spec.Rate, whole time.Duration, k int) time.Duration {
	f, g, d := from.PerSecond(), to.PerSecond(), whole.Seconds()
	inside := max(0, f*f+2*(g-f)/d*float64(k))
	return min(time.Duration(2*float64(k)/(f+math.Sqrt(inside))*1e9), whole)
}

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
	slices.Sort(times)
	times = append(times, p.Duration)
	return func(k int) time.Duration { return times[k] }
}

// Complete fills in what follows from the rates of a phase whose requests have planned times. It computes the
// number of requests from the duration or, if that is zero, the duration from the number. Phases of other
// shapes, and those with a rate of zero, stay as they are. It checks no ceiling (Excesses does).
func (p *Phase) Complete() {
	switch p.Shape {
	case timeline.Constant, timeline.Poisson:
		if p.Rate.N > 0 && p.Duration > 0 {
			p.Requests = within(p.Duration, p.Rate)
		} else if p.Rate.N > 0 {
			p.Duration = time.Duration(MulDiv(int64(p.Requests), int64(p.Rate.Per), p.Rate.N, true))
		}
	case timeline.Ramp:
		p.completeRamp()
	case timeline.Steps:
		p.Requests = 0
		for i := range p.Rates {
			p.Requests = min(p.Requests+p.step(i), math.MaxInt32)
		}
	}
}

// longestRamp is longer than every ceiling of a duration.
const longestRamp = 70 * 24 * time.Hour

func (p *Phase) completeRamp() {
	if p.From.N == 0 || p.To.N == 0 {
		return
	}
	if p.Duration == 0 {
		p.Duration = time.Duration(max(1, min(2e9*float64(p.Requests)/(p.From.PerSecond()+p.To.PerSecond()),
			float64(longestRamp))))
		return
	}
	p.Requests = int(max(1, min(rampCount(p.From, p.To, p.Duration), math.MaxInt32)))
}
