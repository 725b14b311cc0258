package lab

import (
	"math/bits"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// WrongBucket is a token bucket as products wrote it, with one defect. Its level is counted in grains: a unit
// is per grains, and n grains come back each nanosecond.
type WrongBucket struct {
	n, per, burst int64
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

type bucketState struct {
	level int64
	last  time.Duration
	turn  int
	seen  bool
}

// Serving returns the bucket that serves p with the defect of b.
func (b WrongBucket) Serving(p spec.Policy) WrongBucket {
	b.n, b.per, b.burst = p.Rate.N, int64(p.Rate.Per), p.Burst
	return b
}

// maxFill is how many times its burst an uncapped bucket may hold, so that no product overflows.
const maxFill = 64

// Init returns the state of a new partition: full, at the time of its first request.
func (b WrongBucket) Init() reference.State { return bucketState{} }

// Step refills, with the defect, and takes cost units.
func (b WrongBucket) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	l := s.(bucketState)
	stamped := at
	if b.Skew > 0 && l.turn%2 == 1 {
		stamped += b.Skew
	}
	l.turn++
	if !l.seen {
		l = bucketState{level: b.burst * b.per, last: stamped, turn: l.turn, seen: true}
	}
	l.level = b.refilled(l.level, stamped-l.last)
	l.last = stamped
	d := reference.Decision{Allow: cost <= l.level/b.per}
	if d.Allow {
		l.level -= cost * b.per
	} else {
		d.RetryAfter = b.time(cost*b.per - l.level)
		if cost > b.burst {
			d.RetryAfter = reference.Never
		}
	}
	d.Remaining = max(0, l.level/b.per)
	d.Reset = b.time(b.burst*b.per - l.level)
	return l, d
}

// refilled returns a level after some time.
func (b WrongBucket) refilled(level int64, elapsed time.Duration) int64 {
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
	full := b.burst * b.per
	gain := full * maxFill
	if hi, lo := bits.Mul64(uint64(max(elapsed, -elapsed)), uint64(b.n)); hi == 0 && lo < uint64(gain) {
		gain = int64(lo)
	}
	if elapsed < 0 {
		gain = -gain
	}
	if b.WholeUnits {
		gain -= gain % b.per
	}
	if b.Uncapped {
		return min(level+gain, full*maxFill)
	}
	return max(-full, min(level+gain, full))
}

// time returns how long grains take to come back, rounded up; 0 for no grains.
func (b WrongBucket) time(grains int64) time.Duration {
	if grains <= 0 {
		return 0
	}
	return time.Duration((grains-1)/b.n + 1)
}
