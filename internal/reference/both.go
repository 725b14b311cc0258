package reference

import (
	"math"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

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

// owning is one of several limiters. It counts what it admits itself, even if another one denies it.
type owning struct{ part }

func (l owning) settle(s State, at time.Duration, cost int64, _ bool) (State, time.Duration) {
	return l.part.settle(s, at, cost, l.wait(s, at, cost) == 0)
}

// dated is a limiter of calendar days or months. The limiter inside has windows of one length, on the padded
// clock of the calendar.
type dated struct {
	inside   part
	calendar spec.Calendar
}

// until returns the true time from an instant until the padded clock shows d more.
func (l dated) until(at, d time.Duration) time.Duration {
	if d == 0 || d == Never {
		return d
	}
	return l.calendar.Real(l.calendar.Padded(at)+d) - at
}

func (l dated) wait(s State, at time.Duration, cost int64) time.Duration {
	return l.until(at, l.inside.wait(s, l.calendar.Padded(at), cost))
}

func (l dated) settle(s State, at time.Duration, cost int64, allow bool) (State, time.Duration) {
	return l.inside.settle(s, l.calendar.Padded(at), cost, allow)
}

func (l dated) view(s State, at time.Duration) (int64, time.Duration) {
	remaining, reset := l.inside.view(s, l.calendar.Padded(at))
	return remaining, l.until(at, reset)
}

func (l dated) finish(s State, at time.Duration, cost int64) State {
	return l.inside.finish(s, l.calendar.Padded(at), cost)
}

// ticked is a limiter whose clock moves in steps. The clock reads the largest multiple of tick that is not
// after the true time.
type ticked struct {
	inside part
	tick   time.Duration
}

// tickState holds the largest true time seen.
type tickState struct {
	inside State
	last   time.Duration
}

// at returns s at the instant at, what the limiter's clock reads then, and for how long it has read so.
func (l ticked) at(s State, at time.Duration) (v tickState, reads, past time.Duration) {
	v, seen := resume[tickState](s)
	if !seen {
		v = tickState{inside: newborn{}, last: at}
	}
	v.last = max(v.last, at)
	past = v.last % l.tick
	if past < 0 {
		past += l.tick
	}
	if v.last < math.MinInt64+past {
		past = 0 // the first step of all time is a short one
	}
	return v, v.last - past, past
}

// until returns the time until the limiter's clock shows at least d more than now.
func (l ticked) until(d, past time.Duration) time.Duration {
	if d == 0 || d == Never {
		return d
	}
	steps := (uint64(d) + uint64(l.tick) - 1) / uint64(l.tick)
	return time.Duration(min(steps*uint64(l.tick)-uint64(past), uint64(Never)))
}

func (l ticked) wait(s State, at time.Duration, cost int64) time.Duration {
	v, reads, past := l.at(s, at)
	return l.until(l.inside.wait(v.inside, reads, cost), past)
}

func (l ticked) settle(s State, at time.Duration, cost int64, allow bool) (State, time.Duration) {
	v, reads, past := l.at(s, at)
	inside, delay := l.inside.settle(v.inside, reads, cost, allow)
	v.inside = inside
	return v, l.until(delay, past)
}

func (l ticked) view(s State, at time.Duration) (int64, time.Duration) {
	v, reads, past := l.at(s, at)
	remaining, reset := l.inside.view(v.inside, reads)
	return remaining, l.until(reset, past)
}

func (l ticked) finish(s State, at time.Duration, cost int64) State {
	v, reads, _ := l.at(s, at)
	v.inside = l.inside.finish(v.inside, reads, cost)
	return v
}
