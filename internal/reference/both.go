package reference

import "time"

// both is two limiters that must both admit a request. More than two are nested.
type both struct{ a, b part }

// bothState holds the states of the two.
type bothState struct{ a, b State }

func bothOf(s State) bothState {
	if v, seen := resume[bothState](s); seen {
		return v
	}
	return bothState{newborn{}, newborn{}}
}

// wait returns the longer wait of the two: what would be admitted once stays admitted.
func (l both) wait(s State, at time.Duration, cost int64) time.Duration {
	v := bothOf(s)
	return max(l.a.wait(v.a, at, cost), l.b.wait(v.b, at, cost))
}

func (l both) settle(s State, at time.Duration, cost int64, allow bool) (State, time.Duration) {
	v := bothOf(s)
	a, delayA := l.a.settle(v.a, at, cost, allow)
	b, delayB := l.b.settle(v.b, at, cost, allow)
	return bothState{a, b}, max(delayA, delayB)
}

func (l both) view(s State, at time.Duration) (int64, time.Duration) {
	v := bothOf(s)
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
	w, ok := l.(whole)
	if !ok {
		return nil
	}
	if b, ok := w.part.(both); ok {
		v := bothOf(s)
		return append(Views(whole{b.a}, v.a, at), Views(whole{b.b}, v.b, at)...)
	}
	left, reset := w.view(s, at)
	return []View{{left, reset}}
}

func (l both) finish(s State, at time.Duration, cost int64) State {
	v := bothOf(s)
	return bothState{l.a.finish(v.a, at, cost), l.b.finish(v.b, at, cost)}
}
