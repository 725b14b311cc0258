package reference

import "time"

// owning is one of several limiters. It counts what it admits itself, even if another one denies it.
type owning struct{ part }

func (l owning) settle(s State, at time.Duration, cost int64, _ bool) (State, time.Duration) {
	return l.part.settle(s, at, cost, l.wait(s, at, cost) == 0)
}
