package reference

import "time"

// Complete tells l that a request of that cost, which it admitted, is complete at the instant at. A
// Concurrency gets its units back, and a policy with ChargeCompletion counts the request now. To all others
// it means nothing. Like Step it is pure, and an earlier time is taken as the largest seen.
//
// Each admitted request is completed at most once. A request that was never admitted gives back no more than
// is held. l comes from New or NewLimit: for another limiter, the state is returned as it is.
func Complete(l Limiter, s State, at time.Duration, cost int64) State {
	mustCost(cost)
	if p, ok := l.(part); ok {
		return p.finish(s, at, cost)
	}
	return s
}

// completing is an algorithm that is told of completions.
type completing[S comparable] interface {
	// complete counts the completion of a request, at the time of s.
	complete(s S, cost int64) S
}

// deferred decides by what was counted so far, and counts an admitted request when it is complete.
type deferred struct {
	// inside decides, and is told of denials alone. charging is the same algorithm with CountAll. It is told
	// of a completed request as a denial, so that it counts as much of it as there is room for.
	inside, charging part
}

// Init returns the state of a partition that was not asked for yet.
func (l deferred) Init() State { return l.inside.Init() }

// Step decides one request.
func (l deferred) Step(s State, at time.Duration, cost int64) (State, Decision) {
	return step(l, s, at, cost)
}

func (l deferred) wait(s State, at time.Duration, cost int64) time.Duration {
	return l.inside.wait(s, at, cost)
}

func (l deferred) settle(s State, at time.Duration, cost int64, _ bool) (State, time.Duration) {
	return l.inside.settle(s, at, cost, false)
}

func (l deferred) view(s State, at time.Duration) (int64, time.Duration) { return l.inside.view(s, at) }

func (l deferred) finish(s State, at time.Duration, cost int64) State {
	s, _ = l.charging.settle(s, at, cost, false)
	return s
}
