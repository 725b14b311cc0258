package reference

import "time"

// both is two limiters that must both admit a request. More than two are nested.
type both struct{ a, b part }

// bothState holds the states of the two.
type bothState struct{ a, b State }

// Init returns the state of a partition that was not asked for yet.
func (l both) Init() State { return bothState{l.a.Init(), l.b.Init()} }

// Step decides one request.
func (l both) Step(s State, at time.Duration, cost int64) (State, Decision) {
	return step(l, s, at, cost)
}

// wait returns the longer wait of the two: what would be admitted once stays admitted.
func (l both) wait(s State, at time.Duration, cost int64) time.Duration {
	v := s.(bothState)
	return max(l.a.wait(v.a, at, cost), l.b.wait(v.b, at, cost))
}

func (l both) settle(s State, at time.Duration, cost int64, allow bool) (State, time.Duration) {
	v := s.(bothState)
	a, delayA := l.a.settle(v.a, at, cost, allow)
	b, delayB := l.b.settle(v.b, at, cost, allow)
	return bothState{a, b}, max(delayA, delayB)
}

func (l both) view(s State, at time.Duration) (int64, time.Duration) {
	v := s.(bothState)
	remainingA, resetA := l.a.view(v.a, at)
	remainingB, resetB := l.b.view(v.b, at)
	return min(remainingA, remainingB), max(resetA, resetB)
}

// View is what a limiter has left, as in Decision.
type View struct {
	Remaining int64
	Reset     time.Duration
}

// Views returns what each policy of l has left at the instant at, in the order of the limit. l comes from New
// or NewLimit: for another limiter it is empty.
func Views(l Limiter, s State, at time.Duration) []View {
	if b, ok := l.(both); ok {
		v := s.(bothState)
		return append(Views(b.a, v.a, at), Views(b.b, v.b, at)...)
	}
	p, ok := l.(part)
	if !ok {
		return nil
	}
	left, reset := p.view(s, at)
	return []View{{left, reset}}
}

func (l both) finish(s State, at time.Duration, cost int64) State {
	v := s.(bothState)
	return bothState{l.a.finish(v.a, at, cost), l.b.finish(v.b, at, cost)}
}
