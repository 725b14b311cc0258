package reference

import "time"

// expiring forgets a partition after ttl without a request, so that the next request finds a fresh one. Each
// request, admitted or denied, renews the time.
type expiring struct {
	inside part
	ttl    time.Duration
}

// expiringState holds the state of the limiter inside, and the time of the last request.
type expiringState struct {
	inside State
	last   time.Duration
}

// at returns s at the instant at, and how long it still lives, at least 1 ns.
func (l expiring) at(s State, at time.Duration) (v expiringState, rest time.Duration) {
	v, seen := resume[expiringState](s)
	if !seen {
		return expiringState{newborn{}, at}, l.ttl
	}
	if past := since(at, v.last); past < uint64(l.ttl) {
		return v, l.ttl - time.Duration(past)
	}
	return expiringState{newborn{}, at}, l.ttl
}

// wait returns the wait of the limiter inside, or the time until it is forgotten if a fresh one would admit
// the request. Never: a fresh one denies the request, and would do so each time.
func (l expiring) wait(s State, at time.Duration, cost int64) time.Duration {
	v, rest := l.at(s, at)
	now := max(at, v.last)
	fresh := l.inside.wait(newborn{}, now, cost)
	if old, seen := resume[expiringState](s); seen && since(at, old.last) < uint64(l.ttl) {
		if inside := l.inside.wait(v.inside, now, cost); inside < rest {
			return inside
		}
		if fresh == 0 {
			return rest
		}
	} else if fresh == 0 {
		return 0
	}
	return Never
}

func (l expiring) settle(s State, at time.Duration, cost int64, allow bool) (State, time.Duration) {
	v, _ := l.at(s, at)
	v.last = max(v.last, at)
	var delay time.Duration
	v.inside, delay = l.inside.settle(v.inside, v.last, cost, allow)
	return v, delay
}

func (l expiring) view(s State, at time.Duration) (int64, time.Duration) {
	v, rest := l.at(s, at)
	remaining, reset := l.inside.view(v.inside, max(at, v.last))
	return remaining, min(reset, rest)
}

// finish renews nothing, as only requests do.
func (l expiring) finish(s State, at time.Duration, cost int64) State {
	v, seen := resume[expiringState](s)
	if !seen {
		return s
	}
	v.inside = l.inside.finish(v.inside, max(at, v.last), cost)
	return v
}
