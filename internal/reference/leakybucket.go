package reference

import (
	"math"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// leakyBucket is the leaky bucket as a meter. A request pours in its cost, and is denied if the bucket would
// overflow. The level sinks by the rate. Nothing is delayed.
//
//	level' = max(0, level - rate * time);  admitted when level' + cost <= capacity
//
// The level is counted in quota units times the window in nanoseconds, and sinks by refill. A denied request
// that is counted fills the bucket to the brim.
type leakyBucket struct {
	leak          refill
	burst         int64
	per, capacity uint64
	// missing is the level at the start.
	missing uint64
	all     bool
}

type levelState struct {
	last  time.Duration
	level uint64
	into  uint64
}

func newLeakyBucket(p spec.Policy) *leakyBucket {
	return &leakyBucket{
		leak: newRefill(p), burst: p.Burst, per: uint64(p.Rate.Per),
		capacity: uint64(p.Burst) * uint64(p.Rate.Per),
		missing:  uint64(p.Missing()) * uint64(p.Rate.Per), all: p.Count == spec.CountAll,
	}
}

func (b *leakyBucket) open(at time.Duration) levelState {
	return levelState{last: at, level: b.missing}
}

func (b *leakyBucket) advance(s levelState, at time.Duration) levelState {
	past := since(at, s.last)
	if past == 0 {
		return s
	}
	lost, into := b.leak.over(past, s.into, s.level)
	return levelState{last: at, level: s.level - lost, into: into}
}

func (b *leakyBucket) wait(s levelState, cost int64) time.Duration {
	if cost > b.burst {
		return Never
	}
	room := b.capacity - uint64(cost)*b.per
	if s.level <= room {
		return 0
	}
	return b.leak.until(s.level-room, s.into)
}

func (b *leakyBucket) charge(s levelState, cost int64, allow bool) (levelState, time.Duration) {
	if allow || b.all {
		s.level = min(b.capacity, s.level+uint64(min(cost, b.burst))*b.per)
	}
	return s, 0
}

// amend changes the level, which may then be above the brim.
func (b *leakyBucket) amend(s levelState, units int64) levelState {
	if units < 0 {
		s.level -= min(s.level, scaled(-units, b.per))
	} else {
		s.level = min(s.level+scaled(units, b.per), scaled(math.MaxInt64, b.per))
	}
	return s
}

func (b *leakyBucket) view(s levelState) (int64, time.Duration) {
	return int64((b.capacity - min(s.level, b.capacity)) / b.per), b.leak.until(s.level, s.into)
}

// queue is the leaky bucket as a queue. Requests are let through one every T = window/n. At most `places` of
// them wait, and a request is denied only if it finds no place. The first `undelayed` places are let through
// at once (nginx: burst=places, delay=undelayed), but hold their place as long as the others.
//
//	admitted when backlog + cost <= places + 1;  delayed by max(0, backlog - undelayed) * T
//
// It is the meter with the backlog as its level, the request in service included. It makes what it admits
// wait.
type queue struct {
	*leakyBucket
	undelayed uint64
}

func newQueue(p spec.Policy) queue {
	p.Burst = p.Full()
	return queue{newLeakyBucket(p), uint64(p.Undelayed) * uint64(p.Rate.Per)}
}

func (q queue) charge(s levelState, cost int64, allow bool) (levelState, time.Duration) {
	var delay time.Duration
	if allow && s.level > q.undelayed {
		delay = q.leak.until(s.level-q.undelayed, s.into)
	}
	s, _ = q.leakyBucket.charge(s, cost, allow)
	return s, delay
}
