package target

import (
	"math/bits"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// sloppyBucket is a token bucket as products wrote it, with one defect. Its level is counted in grains: a
// unit is per grains, and n grains come back each nanosecond.
type sloppyBucket struct {
	n, per, burst int64
	// uncapped lets the level grow beyond the burst while it is idle.
	uncapped bool
	// step throws away the part of the elapsed time that is no multiple of it.
	step time.Duration
	// wholeUnits throws away the part of a refill that is no whole unit.
	wholeUnits bool
	// narrow keeps the elapsed time in 32 bits of nanoseconds.
	narrow bool
	// skew is added to the time of every second request, and the last time may move back.
	skew time.Duration
}

type sloppyState struct {
	level int64
	last  time.Duration
	turn  int
	seen  bool
}

// serving returns the bucket that serves p with the defect of b.
func (b sloppyBucket) serving(p spec.Policy) sloppyBucket {
	b.n, b.per, b.burst = p.Rate.N, int64(p.Rate.Per), p.Burst
	return b
}

// maxFill is how many times its burst an uncapped bucket may hold, so that no product overflows.
const maxFill = 64

// Init returns the state of a partition never seen: full, at the time of its first request.
func (b sloppyBucket) Init() reference.State { return sloppyState{} }

// Step refills, with the defect, and takes cost units.
func (b sloppyBucket) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	l := s.(sloppyState)
	stamped := at
	if b.skew > 0 && l.turn%2 == 1 {
		stamped += b.skew
	}
	l.turn++
	if !l.seen {
		l = sloppyState{level: b.burst * b.per, last: stamped, turn: l.turn, seen: true}
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
func (b sloppyBucket) refilled(level int64, elapsed time.Duration) int64 {
	if b.narrow {
		elapsed = time.Duration(int32(elapsed))
	}
	if b.step > 0 {
		elapsed -= elapsed % b.step
	}
	if elapsed < 0 && !b.narrow {
		// A clock that went back refills nothing; but last has moved, so the next request refills the same
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
	if b.wholeUnits {
		gain -= gain % b.per
	}
	if b.uncapped {
		return min(level+gain, full*maxFill)
	}
	return max(-full, min(level+gain, full))
}

// time returns how long grains take to come back, rounded up; 0 for none.
func (b sloppyBucket) time(grains int64) time.Duration {
	if grains <= 0 {
		return 0
	}
	return time.Duration((grains-1)/b.n + 1)
}
