package lab

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
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
