package lab

import (
	"math/bits"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Drained uses up units of a partition when it is first seen.
type Drained struct {
	Inner reference.Limiter
	Units int64
}

type drainedState struct {
	inner reference.State
	seen  bool
}

// Init returns the state of a partition never seen.
func (l Drained) Init() reference.State { return drainedState{inner: l.Inner.Init()} }

// Step takes the units before it decides the first request.
func (l Drained) Step(s reference.State, at time.Duration, cost int64) (reference.State, reference.Decision) {
	d := s.(drainedState)
	if !d.seen {
		d.inner, _ = l.Inner.Step(d.inner, at, l.Units)
		d.seen = true
	}
	var out reference.Decision
	d.inner, out = l.Inner.Step(d.inner, at, cost)
	return d, out
}

// Coarse rounds time down to a step.
type Coarse struct {
	Inner reference.Limiter
	Tick  time.Duration
}

// Init returns the state of a partition never seen.
func (l Coarse) Init() reference.State { return l.Inner.Init() }

// Step decides as the inner limiter would at the last tick.
func (l Coarse) Step(s reference.State, at time.Duration, cost int64) (reference.State, reference.Decision) {
	return l.Inner.Step(s, at-at%l.Tick, cost)
}

// LockedOut denies everything after a denial. It tells clients what the inner limiter would have told them.
type LockedOut struct{ Inner reference.Limiter }

type lockedOutState struct {
	inner  reference.State
	denied bool
}

// Init returns the state of a partition never seen.
func (l LockedOut) Init() reference.State { return lockedOutState{inner: l.Inner.Init()} }

// Step decides until it has denied.
func (l LockedOut) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	state := s.(lockedOutState)
	next, d := l.Inner.Step(state.inner, at, cost)
	if !state.denied {
		return lockedOutState{inner: next, denied: !d.Allow}, d
	}
	d.Allow, d.Delay, d.Remaining, d.RetryAfter = false, 0, 0, max(d.RetryAfter, 1)
	return state, d
}

// IdleTimer is a counter with a time to live that every request renews.
type IdleTimer struct {
	Quota  int64
	Window time.Duration
}

type idleTimerState struct {
	used int64
	last time.Duration
}

// Init returns the state of a partition never seen.
func (l IdleTimer) Init() reference.State { return idleTimerState{} }

// Step counts cost in the window that the last request started.
func (l IdleTimer) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	c := s.(idleTimerState)
	if at-c.last >= l.Window {
		c.used = 0
	}
	c.last = at
	d := reference.Decision{Allow: c.used+cost <= l.Quota, Reset: l.Window}
	if d.Allow {
		c.used += cost
	} else {
		d.RetryAfter = l.Window
	}
	d.Remaining = l.Quota - c.used
	return c, d
}

// Forgetful starts a partition again after a silence of Ttl.
type Forgetful struct {
	Inner reference.Limiter
	Ttl   time.Duration
}

type forgetfulState struct {
	inner reference.State
	last  time.Duration
}

// Init returns the state of a partition never seen.
func (l Forgetful) Init() reference.State { return forgetfulState{inner: l.Inner.Init()} }

// Step decides on what it still remembers.
func (l Forgetful) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	f := s.(forgetfulState)
	if at-f.last >= l.Ttl {
		f.inner = l.Inner.Init()
	}
	f.last = at
	var d reference.Decision
	f.inner, d = l.Inner.Step(f.inner, at, cost)
	return f, d
}

// Charged takes another cost than that of the request.
type Charged struct {
	Inner reference.Limiter
	Cost  func(int64) int64
}

// Init returns the state of a partition never seen.
func (l Charged) Init() reference.State { return l.Inner.Init() }

// Step decides on the other cost.
func (l Charged) Step(s reference.State, at time.Duration, cost int64) (reference.State, reference.Decision) {
	return l.Inner.Step(s, at, l.Cost(cost))
}

// Generous admits requests that cost more than the inner limiter ever admits.
type Generous struct{ reference.Limiter }

// Step takes nothing for a request that is too large.
func (l Generous) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	next, d := l.Limiter.Step(s, at, cost)
	if !d.Allow && d.RetryAfter == reference.Never {
		d.Allow, d.RetryAfter = true, 0
		return s, d
	}
	return next, d
}

// Burning takes what is left when it denies a request.
type Burning struct{ reference.Limiter }

// Step uses up the units left after a denial.
func (l Burning) Step(s reference.State, at time.Duration, cost int64) (reference.State, reference.Decision) {
	next, d := l.Limiter.Step(s, at, cost)
	if !d.Allow && d.Remaining > 0 {
		next, _ = l.Limiter.Step(next, at, d.Remaining)
		d.Remaining = 0
	}
	return next, d
}

// Outlived is a fixed window whose count is one window late for a while.
type Outlived struct {
	Quota  int64
	Window time.Duration
}

type outlivedState struct {
	index       int64
	used, stale int64
	seen        bool
}

// Init returns the state of a partition never seen.
func (l Outlived) Init() reference.State { return outlivedState{} }

// Step denies if either count is full while the old one is read.
func (l Outlived) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	w, index := s.(outlivedState), int64(at/l.Window)
	if !w.seen || index != w.index {
		stale := int64(0)
		if w.seen && index == w.index+1 {
			stale = w.used
		}
		w = outlivedState{index: index, stale: stale, seen: true}
	}
	into := at % l.Window
	used := w.used
	if into < l.Window/4 {
		used += w.stale
	}
	d := reference.Decision{Allow: used+cost <= l.Quota, Reset: l.Window - into}
	if d.Allow {
		w.used, used = w.used+cost, used+cost
	} else if d.RetryAfter = d.Reset; cost > l.Quota {
		d.RetryAfter = reference.Never
	}
	d.Remaining = max(0, l.Quota-used)
	return w, d
}

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

// CollidingLog is a log of admissions that keeps each under its millisecond, and therefore only one for each
// millisecond.
type CollidingLog struct {
	Quota  int64
	Window time.Duration
}

// collidingState are the milliseconds of the log, ascending. It is never written to.
type collidingState []time.Duration

// Init returns the state of a partition never seen.
func (l CollidingLog) Init() reference.State { return collidingState(nil) }

// Step admits what the entries of the last window leave room for. A second entry of a millisecond is not
// added.
func (l CollidingLog) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	log := s.(collidingState)
	live := log[min(len(log), lowest(log, at-l.Window)):]
	d := reference.Decision{Allow: int64(len(live))+cost <= l.Quota, Reset: l.Window}
	if !d.Allow {
		d.RetryAfter = l.Window
		if len(live) > 0 {
			d.RetryAfter = live[0] + l.Window - at + time.Millisecond
		}
	} else if ms := at.Truncate(time.Millisecond); len(live) == 0 || live[len(live)-1] != ms {
		live = append(slices.Clone(live), ms)
	}
	d.Remaining = max(0, l.Quota-int64(len(live)))
	return live, d
}

// lowest returns the index of the first entry after t.
func lowest(log collidingState, t time.Duration) int {
	i, _ := slices.BinarySearch(log, t+1)
	return i
}

// StuckSlots is a window in slots that measures the age of its slot from the last request. It moves on by the
// whole slots between two requests. While requests come more often than that, no slot ends.
type StuckSlots struct {
	Inner reference.Limiter
	Slot  time.Duration
}

// stuckState holds the time of the inner limiter, and when the last request came.
type stuckState struct {
	inner    reference.State
	at, last time.Duration
	seen     bool
}

// Init returns the state of a partition never seen.
func (l StuckSlots) Init() reference.State { return stuckState{inner: l.Inner.Init()} }

// Step decides at a time that stands still between requests that are less than a slot apart.
func (l StuckSlots) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	c := s.(stuckState)
	if !c.seen {
		c.at, c.last, c.seen = at, at, true
	}
	c.at += (at - c.last) / l.Slot * l.Slot
	c.last = at
	var d reference.Decision
	c.inner, d = l.Inner.Step(c.inner, c.at, cost)
	return c, d
}
