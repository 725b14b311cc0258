package wrong

import (
	"math/bits"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// stepper decides one request of a partition with state s, as reference.Limiter.Step does.
type stepper[S any] func(s S, at time.Duration, cost int64) (S, reference.Decision)

// own is a limiter of our own, whose partitions begin with the zero S.
type own[S any] struct{ step stepper[S] }

// Init returns the state of a partition never seen.
func (w own[S]) Init() reference.State {
	var s S
	return s
}

// Step decides one request.
func (w own[S]) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	return w.step(s.(S), at, cost)
}

// around is a limiter on the states of another one, which its step asks.
type around struct {
	reference.Limiter
	step stepper[reference.State]
}

// Step decides one request.
func (a around) Step(s reference.State, at time.Duration, cost int64) (reference.State, reference.Decision) {
	return a.step(s, at, cost)
}

// within is the state of a limiter that remembers something beside what the inner one does. inner is nil for
// a partition never seen.
type within[S any] struct {
	inner reference.State
	own   S
}

// drained uses up the quota of a partition when it is first seen.
func drained(l reference.Limiter, limit spec.Limit) reference.Limiter {
	type state struct{ inner reference.State }
	return own[state]{func(s state, at time.Duration, cost int64) (_ state, d reference.Decision) {
		if s.inner == nil {
			s.inner, _ = l.Step(l.Init(), at, limit[0].Full())
		}
		s.inner, d = l.Step(s.inner, at, cost)
		return s, d
	}}
}

// coarse rounds time down to whole seconds.
func coarse(l reference.Limiter, _ spec.Limit) reference.Limiter {
	return around{l, func(s reference.State, at time.Duration, cost int64) (reference.State,
		reference.Decision) {
		return l.Step(s, at.Truncate(time.Second), cost)
	}}
}

// lockedOut denies everything after a denial. It tells clients what the inner limiter would have told them.
func lockedOut(l reference.Limiter, _ spec.Limit) reference.Limiter {
	type state = within[bool] // own: it has denied
	return own[state]{func(s state, at time.Duration, cost int64) (state, reference.Decision) {
		if s.inner == nil {
			s.inner = l.Init()
		}
		next, d := l.Step(s.inner, at, cost)
		if !s.own {
			return state{next, !d.Allow}, d
		}
		d.Allow, d.Delay, d.Remaining, d.RetryAfter = false, 0, 0, max(d.RetryAfter, 1)
		return s, d
	}}
}

// idleTimer is a counter with a time to live that every request renews.
func idleTimer(_ reference.Limiter, limit spec.Limit) reference.Limiter {
	type state struct {
		used int64
		last time.Duration
	}
	quota, window := limit[0].Full(), WindowOf(limit[0])
	return own[state]{func(c state, at time.Duration, cost int64) (state, reference.Decision) {
		if at-c.last >= window {
			c.used = 0
		}
		c.last = at
		d := reference.Decision{Allow: c.used+cost <= quota, Reset: window}
		if d.Allow {
			c.used += cost
		} else {
			d.RetryAfter = window
		}
		d.Remaining = quota - c.used
		return c, d
	}}
}

// forgetful starts a partition again after half of the silence in which the limit recovers.
func forgetful(l reference.Limiter, limit spec.Limit) reference.Limiter {
	type state = within[time.Duration] // own: the last request
	ttl := time.Duration(0)
	for _, p := range limit {
		ttl = max(ttl, WindowOf(p)/2)
	}
	return own[state]{func(s state, at time.Duration, cost int64) (_ state, d reference.Decision) {
		if s.inner == nil || at-s.own >= ttl {
			s.inner = l.Init()
		}
		s.own = at
		s.inner, d = l.Step(s.inner, at, cost)
		return s, d
	}}
}

// charged takes another cost than that of the request.
func charged(price func(int64) int64) func(reference.Limiter, spec.Limit) reference.Limiter {
	return func(l reference.Limiter, _ spec.Limit) reference.Limiter {
		return around{l, func(s reference.State, at time.Duration, cost int64) (reference.State,
			reference.Decision) {
			return l.Step(s, at, price(cost))
		}}
	}
}

// generous admits requests that cost more than the inner limiter ever admits, and takes nothing for them.
func generous(l reference.Limiter, _ spec.Limit) reference.Limiter {
	return around{l, func(s reference.State, at time.Duration, cost int64) (reference.State,
		reference.Decision) {
		next, d := l.Step(s, at, cost)
		if !d.Allow && d.RetryAfter == reference.Never {
			d.Allow, d.RetryAfter = true, 0
			return s, d
		}
		return next, d
	}}
}

// burning uses up the units that are left when it denies a request.
func burning(l reference.Limiter, _ spec.Limit) reference.Limiter {
	return around{l, func(s reference.State, at time.Duration, cost int64) (reference.State,
		reference.Decision) {
		next, d := l.Step(s, at, cost)
		if !d.Allow && d.Remaining > 0 {
			next, _ = l.Step(next, at, d.Remaining)
			d.Remaining = 0
		}
		return next, d
	}}
}

// outlived is a fixed window whose count is one window late for a while: it denies if either count is full
// while the old one is read.
func outlived(_ reference.Limiter, limit spec.Limit) reference.Limiter {
	type state struct {
		index       int64
		used, stale int64
		seen        bool
	}
	quota, window := limit[0].Rate.N, limit[0].Rate.Per
	return own[state]{func(w state, at time.Duration, cost int64) (state, reference.Decision) {
		if index := int64(at / window); !w.seen || index != w.index {
			stale := int64(0)
			if w.seen && index == w.index+1 {
				stale = w.used
			}
			w = state{index: index, stale: stale, seen: true}
		}
		into, used := at%window, w.used
		if into < window/4 {
			used += w.stale
		}
		d := reference.Decision{Allow: used+cost <= quota, Reset: window - into}
		if d.Allow {
			w.used, used = w.used+cost, used+cost
		} else if d.RetryAfter = d.Reset; cost > quota {
			d.RetryAfter = reference.Never
		}
		d.Remaining = max(0, quota-used)
		return w, d
	}}
}

// grains are a token bucket whose level is counted in grains: a unit is per grains, and n grains come back
// each nanosecond.
type grains struct{ n, per, burst int64 }

func grainsOf(p spec.Policy) grains { return grains{p.Rate.N, int64(p.Rate.Per), p.Burst} }

// full is the level of a full bucket.
func (g grains) full() int64 { return g.burst * g.per }

// take takes cost units from a level.
func (g grains) take(level, cost int64) (left int64, d reference.Decision) {
	if d.Allow = cost <= level/g.per; d.Allow {
		level -= cost * g.per
	} else if d.RetryAfter = g.time(cost*g.per - level); cost > g.burst {
		d.RetryAfter = reference.Never
	}
	d.Remaining, d.Reset = max(0, level/g.per), g.time(g.full()-level)
	return level, d
}

// time returns how long some grains take to come back, rounded up; 0 for none.
func (g grains) time(some int64) time.Duration {
	if some <= 0 {
		return 0
	}
	return time.Duration((some-1)/g.n + 1)
}

// Bucket is a token bucket as products wrote it, with one defect.
type Bucket struct {
	// Uncapped lets the level grow beyond the burst while it is idle.
	Uncapped bool
	// Tick drops the part of the elapsed time that is no multiple of it.
	Tick time.Duration
	// WholeUnits drops the part of a refill that is no whole unit.
	WholeUnits bool
	// Narrow keeps the elapsed time in 32 bits of nanoseconds.
	Narrow bool
	// Skew is added to the time of every second request. The last time may then move back.
	Skew time.Duration
}

// maxFill is how many times its burst an uncapped bucket may hold, so that no product overflows.
const maxFill = 64

// Serve returns the bucket that serves the first policy with the defect of b. A new partition is full.
func (b Bucket) Serve(_ reference.Limiter, limit spec.Limit) reference.Limiter {
	type state struct {
		level int64
		last  time.Duration
		turn  int
	}
	g := grainsOf(limit[0])
	return own[state]{func(s state, at time.Duration, cost int64) (_ state, d reference.Decision) {
		if b.Skew > 0 && s.turn%2 == 1 {
			at += b.Skew
		}
		if s.turn == 0 {
			s.level, s.last = g.full(), at
		}
		s.level, d = g.take(b.refilled(g, s.level, at-s.last), cost)
		s.last, s.turn = at, s.turn+1
		return s, d
	}}
}

// refilled returns a level after some time, with the defect.
func (b Bucket) refilled(g grains, level int64, elapsed time.Duration) int64 {
	if b.Narrow {
		elapsed = time.Duration(int32(elapsed))
	}
	if b.Tick > 0 {
		elapsed -= elapsed % b.Tick
	}
	if elapsed < 0 && !b.Narrow {
		// A clock that went back refills nothing. But last has moved, so the next request refills the same
		// time again.
		return level
	}
	full := g.full()
	gain := full * maxFill
	if hi, lo := bits.Mul64(uint64(max(elapsed, -elapsed)), uint64(g.n)); hi == 0 && lo < uint64(gain) {
		gain = int64(lo)
	}
	if elapsed < 0 {
		gain = -gain
	}
	if b.WholeUnits {
		gain -= gain % g.per
	}
	if b.Uncapped {
		return min(level+gain, full*maxFill)
	}
	return max(-full, min(level+gain, full))
}

// ticking is a token bucket that a ticker of 50 ms fills. A tick that finds work to do comes a quarter late,
// and the lost time is not made up. A new partition is full.
func ticking(_ reference.Limiter, limit spec.Limit) reference.Limiter {
	const tick = 50 * time.Millisecond
	const late = tick / 4
	// next is when the next tick is due. busy: a request came since the last tick.
	type state struct {
		level      int64
		next       time.Duration
		busy, seen bool
	}
	g := grainsOf(limit[0])
	filled := func(level int64, ticks time.Duration) int64 {
		hi, lo := bits.Mul64(uint64(ticks*tick), uint64(g.n))
		if hi > 0 || lo >= uint64(g.full()-level) {
			return g.full()
		}
		return level + int64(lo)
	}
	return own[state]{func(s state, at time.Duration, cost int64) (_ state, d reference.Decision) {
		if !s.seen {
			s = state{level: g.full(), next: at + tick + late, seen: true}
		}
		// The first tick may be late. The others find nothing to do.
		if at >= s.next {
			ticks := 1 + (at-s.next)/tick
			s.level, s.next, s.busy = filled(s.level, ticks), s.next+ticks*tick, false
		}
		if !s.busy {
			s.busy, s.next = true, s.next+late
		}
		s.level, d = g.take(s.level, cost)
		return s, d
	}}
}

// colliding is a log of admissions that keeps each under its millisecond, and therefore only one for each
// millisecond: a second entry of a millisecond is not added.
func colliding(_ reference.Limiter, limit spec.Limit) reference.Limiter {
	type state struct{ log []time.Duration } // milliseconds, ascending; never written to
	quota, window := limit[0].Full(), WindowOf(limit[0])
	return own[state]{func(s state, at time.Duration, cost int64) (state, reference.Decision) {
		first, _ := slices.BinarySearch(s.log, at-window+1)
		live := s.log[first:]
		d := reference.Decision{Allow: int64(len(live))+cost <= quota, Reset: window}
		if !d.Allow {
			d.RetryAfter = window
			if len(live) > 0 {
				d.RetryAfter = live[0] + window - at + time.Millisecond
			}
		} else if ms := at.Truncate(time.Millisecond); len(live) == 0 || live[len(live)-1] != ms {
			live = append(slices.Clone(live), ms)
		}
		d.Remaining = max(0, quota-int64(len(live)))
		return state{live}, d
	}}
}

// stuckSlots is a window in slots that measures the age of its slot from the last request. It moves on by the
// whole slots between two requests. While requests come more often than that, no slot ends.
func stuckSlots(l reference.Limiter, limit spec.Limit) reference.Limiter {
	type times struct{ at, last time.Duration } // that of the inner limiter, and the last request
	type state = within[times]
	slot := limit[0].Tick
	return own[state]{func(s state, at time.Duration, cost int64) (_ state, d reference.Decision) {
		if s.inner == nil {
			s = state{l.Init(), times{at, at}}
		}
		s.own.at += (at - s.own.last) / slot * slot
		s.own.last = at
		s.inner, d = l.Step(s.inner, s.own.at, cost)
		return s, d
	}}
}
