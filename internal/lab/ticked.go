package lab

import (
	"math/bits"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// WrongTicked is a token bucket that a ticker fills. A tick that finds work to do comes late, and the lost
// time is not made up. Its level is counted in grains: a unit is per grains, and n grains come back each
// nanosecond.
type WrongTicked struct {
	n, per, burst int64
	tick, late    time.Duration
}

// NewTicked serves p by a ticker of 50 ms, which comes a quarter late when it finds work to do.
func NewTicked(p spec.Policy) reference.Limiter {
	const tick = 50 * time.Millisecond
	return WrongTicked{n: p.Rate.N, per: int64(p.Rate.Per), burst: p.Burst, tick: tick, late: tick / 4}
}

// tickedState is a partition: its level, when the next tick is due, and whether a request came since the last
// tick.
type tickedState struct {
	level      int64
	next       time.Duration
	busy, seen bool
}

// Init returns the state of a new partition: full, at the time of its first request.
func (b WrongTicked) Init() reference.State { return tickedState{} }

// Step runs the ticks that are due, and takes cost units.
func (b WrongTicked) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	l := s.(tickedState)
	if !l.seen {
		l = tickedState{level: b.burst * b.per, next: at + b.tick + b.late, seen: true}
	}
	// The first tick may be late. The others find nothing to do.
	if at >= l.next {
		ticks := 1 + (at-l.next)/b.tick
		l.level = b.filled(l.level, ticks)
		l.next += ticks * b.tick
		l.busy = false
	}
	if !l.busy {
		l.busy = true
		l.next += b.late
	}
	d := reference.Decision{Allow: cost <= l.level/b.per}
	if d.Allow {
		l.level -= cost * b.per
	} else if d.RetryAfter = b.time(cost*b.per - l.level); cost > b.burst {
		d.RetryAfter = reference.Never
	}
	d.Remaining, d.Reset = l.level/b.per, b.time(b.burst*b.per-l.level)
	return l, d
}

// filled returns a level after some ticks.
func (b WrongTicked) filled(level int64, ticks time.Duration) int64 {
	full := b.burst * b.per
	hi, lo := bits.Mul64(uint64(ticks*b.tick), uint64(b.n))
	if hi > 0 || lo >= uint64(full-level) {
		return full
	}
	return level + int64(lo)
}

// time returns how long grains take to come back, rounded up; 0 for no grains.
func (b WrongTicked) time(grains int64) time.Duration {
	if grains <= 0 {
		return 0
	}
	return time.Duration((grains-1)/b.n + 1)
}
