package reference

import (
	"math"
	"time"
)

// banned denies a partition for a time after the limiter inside denied a request. Requests inside a ban do
// not renew it, and the limiter inside does not see them.
//
//	denied            denied: not renewed        asks the limiter inside again
//	  |----- ban --------x---------------------)|
//
// With growth, each ban lasts that many times longer than the one before, up to most.
type banned struct {
	inside    part
	ban, most time.Duration
	growth    int64
}

// banState holds the largest time seen. on: a ban lasts since begun.
type banState struct {
	inside      State
	last, begun time.Duration
	on          bool
	// length is that of the latest ban; 0: there was none.
	length time.Duration
}

// at returns s at the instant at, and how long its ban still lasts.
func (l banned) at(s State, at time.Duration) (v banState, rest time.Duration) {
	v, seen := resume[banState](s)
	if !seen {
		return banState{inside: newborn{}, last: at}, 0
	}
	v.last = max(v.last, at)
	if !v.on {
		return v, 0
	}
	if past := since(v.last, v.begun); past < uint64(v.length) {
		return v, v.length - time.Duration(past)
	}
	v.on, v.begun = false, 0
	return v, 0
}

// wait returns the wait of the limiter inside, counted from the end of the ban. That limiter may have
// forgotten the partition by then.
func (l banned) wait(s State, at time.Duration, cost int64) time.Duration {
	v, rest := l.at(s, at)
	if v.last > math.MaxInt64-rest {
		return max(rest, l.inside.wait(v.inside, v.last, cost))
	}
	wait := l.inside.wait(v.inside, v.last+rest, cost)
	return rest + min(wait, Never-rest)
}

func (l banned) settle(s State, at time.Duration, cost int64, allow bool) (State, time.Duration) {
	v, rest := l.at(s, at)
	if rest > 0 {
		return v, 0
	}
	v.on = l.inside.wait(v.inside, v.last, cost) > 0
	if v.on {
		v.begun, v.length = v.last, l.next(v.length)
	}
	var delay time.Duration
	v.inside, delay = l.inside.settle(v.inside, v.last, cost, allow)
	return v, delay
}

// next returns the length of the ban after one that was so long.
func (l banned) next(length time.Duration) time.Duration {
	switch {
	case length == 0 || l.growth < 2:
		return l.ban
	case length > l.most/time.Duration(l.growth):
		return l.most
	}
	return length * time.Duration(l.growth)
}

func (l banned) view(s State, at time.Duration) (int64, time.Duration) {
	v, rest := l.at(s, at)
	remaining, reset := l.inside.view(v.inside, v.last)
	if rest > 0 {
		remaining = 0
	}
	return remaining, max(rest, reset)
}

func (l banned) finish(s State, at time.Duration, cost int64) State {
	v, _ := l.at(s, at)
	v.inside = l.inside.finish(v.inside, v.last, cost)
	return v
}
