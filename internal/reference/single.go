package reference

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// New returns the limiter that p specifies; zero values mean the defaults. The error is a *ParseError over
// the SPEC that p prints, if Parse would refuse it.
//
// A policy may leave parameters open, and New then takes one of the limiters that it allows. StartUnknown
// starts full. AlignUnknown and AlignShared have phase 0. AlignPhase with a range takes PhaseFrom. A range of
// rates or bursts takes its smaller end.
func New(p spec.Policy) (Limiter, error) { return NewLimit(spec.Limit{p}) }

// NewLimit returns the limiter of all policies of l together. A request is admitted when all of them admit
// it, and then charged to all. If one denies it, it is charged only to policies with CountAll, and to those
// with CountOwn that admit it themselves. A ban begins with a denial by its own policy. The error is a
// *ParseError, also for an empty limit.
func NewLimit(l spec.Limit) (Limiter, error) {
	limit, err := spec.Parse(l.String())
	if err != nil {
		return nil, err
	}
	p := partOf(limit[len(limit)-1])
	for i := len(limit) - 2; i >= 0; i-- {
		p = both{partOf(limit[i]), p}
	}
	return whole{p}, nil
}

// partOf returns the limiter of a complete policy. From the inside out it has the algorithm, when it is
// charged, what it counts, its time to live, its ban and its tick.
func partOf(p spec.Policy) part {
	l := algorithmOf(p)
	if p.Unit == spec.UnitRequest {
		l = perRequest{l}
	}
	if p.TTL > 0 {
		l = expiring{l, p.TTL}
	}
	if p.Ban > 0 {
		l = banned{inside: l, ban: p.Ban, most: p.BanMost, growth: p.Growth}
	}
	if c := p.Calendar(); !c.IsZero() {
		l = dated{l, c}
	}
	if p.Tick > 0 {
		l = ticked{l, p.Tick}
	}
	if p.Count == spec.CountOwn {
		l = owning{l}
	}
	return l
}

// algorithmOf returns the bare algorithm of a complete policy, charged as it says.
func algorithmOf(p spec.Policy) part {
	a := p.Algorithm
	if p.Charge == spec.ChargeCompletion && (a == spec.TokenBucket || a == spec.GCRA) {
		a = spec.LeakyBucket // it is the same limiter, and its level may exceed the brim
	}
	switch a {
	case spec.TokenBucket:
		return single[tokenState]{newTokenBucket(p)}
	case spec.GCRA:
		return single[cellState]{newGCRA(p)}
	case spec.LeakyBucket:
		return charged(newLeakyBucket(p), p)
	case spec.LeakyBucketQueue:
		return single[levelState]{newQueue(p)}
	case spec.FixedWindow:
		return charged(newFixedWindow(p), p)
	case spec.SlidingWindowLog:
		return charged(newWindowLog(p), p)
	case spec.SlidingWindowCounter:
		return charged(newWindowCounter(p), p)
	case spec.Concurrency:
		return single[placesState]{newConcurrency(p)}
	}
	panic(fmt.Sprintf("reference: no limiter for algorithm %q", p.Algorithm))
}

// algorithm is a rate limiting algorithm over its state S. Every state carries the time that it was brought
// to. All methods but open and advance ask about that instant. All are pure.
type algorithm[S comparable] interface {
	// open returns the state of a partition created at the instant at.
	open(at time.Duration) S
	// advance brings s to the instant at. An earlier instant leaves s as it is.
	advance(s S, at time.Duration) S
	// wait returns how long it takes until a request of the cost would be admitted if nothing else arrives.
	// It is 0 or Never in the extremes. Once the wait is over it stays over: what would be admitted once
	// stays admitted.
	wait(s S, cost int64) time.Duration
	// charge counts a request that is allowed or denied. It returns how long an allowed request is delayed.
	// An allowed request fits.
	charge(s S, cost int64, allow bool) (S, time.Duration)
	// view returns Remaining and Reset.
	view(s S) (remaining int64, reset time.Duration)
}

// part is a limiter, or one of several that decide together, or one inside of another. The state of a
// partition without requests is newborn.
type part interface {
	// wait is algorithm.wait at the instant at.
	wait(s State, at time.Duration, cost int64) time.Duration
	// settle counts a request that was decided at the instant at.
	settle(s State, at time.Duration, cost int64, allow bool) (State, time.Duration)
	// view returns Remaining and Reset at the instant at.
	view(s State, at time.Duration) (remaining int64, reset time.Duration)
	// finish counts, at the instant at, the completion of a request that was admitted.
	finish(s State, at time.Duration, cost int64) State
}

// newborn is the state of a partition without requests so far.
type newborn struct{}

type single[S comparable] struct{ algorithm algorithm[S] }

func (l single[S]) at(s State, at time.Duration) S {
	v, seen := resume[S](s)
	if !seen {
		return l.algorithm.open(at)
	}
	return l.algorithm.advance(v, at)
}

// resume returns what s holds, and whether its partition has had a request. It panics for the state of
// another limiter.
func resume[S comparable](s State) (v S, seen bool) {
	v, seen = s.(S)
	if !seen && s != (newborn{}) {
		panic(fmt.Sprintf("reference: a state of type %T belongs to another limiter", s))
	}
	return v, seen
}

func (l single[S]) wait(s State, at time.Duration, cost int64) time.Duration {
	return l.algorithm.wait(l.at(s, at), cost)
}

func (l single[S]) settle(s State, at time.Duration, cost int64, allow bool) (State, time.Duration) {
	return l.algorithm.charge(l.at(s, at), cost, allow)
}

func (l single[S]) view(s State, at time.Duration) (int64, time.Duration) {
	return l.algorithm.view(l.at(s, at))
}

// finish changes only the time, unless the algorithm is told of completions.
func (l single[S]) finish(s State, at time.Duration, cost int64) State {
	if _, seen := resume[S](s); !seen {
		return s
	}
	v := l.at(s, at)
	if c, ok := l.algorithm.(completing[S]); ok {
		return c.complete(v, cost)
	}
	return v
}

// whole is a Limiter of parts.
type whole struct{ part }

// Init returns the state of a partition that was not asked for yet.
func (whole) Init() State { return newborn{} }

// Step decides one request.
func (l whole) Step(s State, at time.Duration, cost int64) (State, Decision) {
	if cost < 1 {
		panic(fmt.Sprintf("reference: a request costs at least 1 unit, not %d", cost))
	}
	d := Decision{Allow: l.wait(s, at, cost) == 0}
	next, delay := l.settle(s, at, cost, d.Allow)
	if d.Allow {
		d.Delay = delay
	} else {
		d.RetryAfter = l.wait(next, at, cost)
	}
	d.Remaining, d.Reset = l.view(next, at)
	return next, d
}

// since returns the time from earlier to later, or 0 if later is not later. It does not overflow.
func since(later, earlier time.Duration) uint64 {
	if later <= earlier {
		return 0
	}
	return uint64(later) - uint64(earlier)
}
