package reference

import (
	"math"
	"time"
)

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
