package reference

import "time"

// owning is one of several limiters. It counts what it admits itself, even if another one denies it.
type owning struct{ inside part }

// Init returns the state of a partition that was not asked for yet.
func (l owning) Init() State { return l.inside.Init() }

// Step decides one request.
func (l owning) Step(s State, at time.Duration, cost int64) (State, Decision) {
	return l.inside.Step(s, at, cost)
}

func (l owning) wait(s State, at time.Duration, cost int64) time.Duration {
	return l.inside.wait(s, at, cost)
}

func (l owning) settle(s State, at time.Duration, cost int64, _ bool) (State, time.Duration) {
	return l.inside.settle(s, at, cost, l.inside.wait(s, at, cost) == 0)
}

func (l owning) view(s State, at time.Duration) (int64, time.Duration) { return l.inside.view(s, at) }

func (l owning) finish(s State, at time.Duration, cost int64) State {
	return l.inside.finish(s, at, cost)
}
