package reference

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// Complete tells l that a request of that cost, which it admitted, is complete at the instant at. The cost is
// 0 or more. A Concurrency gets its units back, and a policy with ChargeCompletion counts the request now. To
// all others it means nothing. Like Step it is pure, and an earlier time is taken as the largest seen.
//
// Each admitted request is completed at most once. A request that was never admitted gives back no more than
// is held. l comes from New or NewLimit: for another limiter, the state is returned as it is.
func Complete(l Limiter, s State, at time.Duration, cost int64) State {
	if cost < 0 {
		panic(fmt.Sprintf("reference: a request costs at least 0 units, not %d", cost))
	}
	if w, ok := l.(whole); ok {
		return w.finish(s, at, cost)
	}
	return s
}

// completing is an algorithm that is told of completions.
type completing[S comparable] interface {
	// complete counts the completion of a request, at the time of s.
	complete(s S, cost int64) S
}

// amending is an algorithm whose count may be changed at any time.
type amending[S comparable] interface {
	algorithm[S]
	// amend counts units more, or fewer if they are negative, at the time of s. The count may exceed the
	// quota, which is a debt. It does not fall below zero.
	amend(s S, units int64) S
}

// settling decides by what was counted so far, and settles the cost of an admitted request when it is
// complete.
//
//	                    admits while              counts at d    counts at c
//	reserve = 0         one unit is left          -              cost
//	reserve = N         N units are left          N              cost - N
type settling[S comparable] struct {
	single[S]
	amending amending[S]
	asks     int64
	reserve  int64
}

// charged returns the limiter of an algorithm that charges when p says.
func charged[S comparable](a amending[S], p spec.Policy) part {
	if p.Charge == spec.ChargeCompletion {
		return settling[S]{single[S]{a}, a, p.Asks(1), p.Reserve}
	}
	return single[S]{a}
}

func (l settling[S]) wait(s State, at time.Duration, _ int64) time.Duration {
	return l.single.wait(s, at, l.asks)
}

func (l settling[S]) settle(s State, at time.Duration, _ int64, allow bool) (State, time.Duration) {
	v := l.at(s, at)
	if allow && l.reserve > 0 {
		v = l.amending.amend(v, l.reserve)
	}
	return v, 0
}

func (l settling[S]) finish(s State, at time.Duration, cost int64) State {
	return l.amending.amend(l.at(s, at), cost-l.reserve)
}

// perRequest counts 1 for each request, whatever it costs.
type perRequest struct{ part }

func (l perRequest) wait(s State, at time.Duration, _ int64) time.Duration {
	return l.part.wait(s, at, 1)
}

func (l perRequest) settle(s State, at time.Duration, _ int64, allow bool) (State, time.Duration) {
	return l.part.settle(s, at, 1, allow)
}

func (l perRequest) finish(s State, at time.Duration, _ int64) State { return l.part.finish(s, at, 1) }

// amended returns count + units, at least 0 and at most math.MaxInt64.
func amended(count, units int64) int64 {
	if units > math.MaxInt64-count {
		return math.MaxInt64
	}
	return max(count+units, 0)
}

// scaled returns units*per, at most a quarter of all numbers: a debt that lasts for ever.
func scaled(units int64, per uint64) uint64 {
	const most = math.MaxUint64 / 4
	hi, lo := bits.Mul64(uint64(units), per)
	if hi != 0 || lo > most {
		return most
	}
	return lo
}
