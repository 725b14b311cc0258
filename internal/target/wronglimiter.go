package target

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// drained uses up a partition's units when it is first seen.
type drained struct {
	inner reference.Limiter
	units int64
}

type drainedState struct {
	inner reference.State
	seen  bool
}

// Init returns the state of a partition never seen.
func (l drained) Init() reference.State { return drainedState{inner: l.inner.Init()} }

// Step takes the units away before it decides on the first request.
func (l drained) Step(s reference.State, at time.Duration, cost int64) (reference.State, reference.Decision) {
	d := s.(drainedState)
	if !d.seen {
		d.inner, _ = l.inner.Step(d.inner, at, l.units)
		d.seen = true
	}
	var out reference.Decision
	d.inner, out = l.inner.Step(d.inner, at, cost)
	return d, out
}

// coarse rounds time down to a step.
type coarse struct {
	inner reference.Limiter
	step  time.Duration
}

// Init returns the state of a partition never seen.
func (l coarse) Init() reference.State { return l.inner.Init() }

// Step decides as the inner limiter would at the last tick.
func (l coarse) Step(s reference.State, at time.Duration, cost int64) (reference.State, reference.Decision) {
	return l.inner.Step(s, at-at%l.step, cost)
}

// lockedOut denies everything after a denial, and tells clients what the inner limiter would have told them.
type lockedOut struct{ inner reference.Limiter }

type lockedOutState struct {
	inner  reference.State
	denied bool
}

// Init returns the state of a partition never seen.
func (l lockedOut) Init() reference.State { return lockedOutState{inner: l.inner.Init()} }

// Step decides until it has denied.
func (l lockedOut) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	state := s.(lockedOutState)
	next, d := l.inner.Step(state.inner, at, cost)
	if !state.denied {
		return lockedOutState{inner: next, denied: !d.Allow}, d
	}
	d.Allow, d.Delay, d.Remaining, d.RetryAfter = false, 0, 0, max(d.RetryAfter, 1)
	return state, d
}

// idleTimer is a counter with a time to live that every request renews.
type idleTimer struct {
	quota  int64
	window time.Duration
}

type idleTimerState struct {
	used int64
	last time.Duration
}

// Init returns the state of a partition never seen.
func (l idleTimer) Init() reference.State { return idleTimerState{} }

// Step counts cost into the window that the last request has started.
func (l idleTimer) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	c := s.(idleTimerState)
	if at-c.last >= l.window {
		c.used = 0
	}
	c.last = at
	d := reference.Decision{Allow: c.used+cost <= l.quota, Reset: l.window}
	if d.Allow {
		c.used += cost
	} else {
		d.RetryAfter = l.window
	}
	d.Remaining = l.quota - c.used
	return c, d
}

// forgetful starts a partition anew after a silence of ttl.
type forgetful struct {
	inner reference.Limiter
	ttl   time.Duration
}

type forgetfulState struct {
	inner reference.State
	last  time.Duration
}

// Init returns the state of a partition never seen.
func (l forgetful) Init() reference.State { return forgetfulState{inner: l.inner.Init()} }

// Step decides on what it still remembers.
func (l forgetful) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	f := s.(forgetfulState)
	if at-f.last >= l.ttl {
		f.inner = l.inner.Init()
	}
	f.last = at
	var d reference.Decision
	f.inner, d = l.inner.Step(f.inner, at, cost)
	return f, d
}

// charged takes another cost than the request has.
type charged struct {
	inner reference.Limiter
	cost  func(int64) int64
}

// Init returns the state of a partition never seen.
func (l charged) Init() reference.State { return l.inner.Init() }

// Step decides on the other cost.
func (l charged) Step(s reference.State, at time.Duration, cost int64) (reference.State, reference.Decision) {
	return l.inner.Step(s, at, l.cost(cost))
}

// generous admits what costs more than the inner limiter ever admits.
type generous struct{ reference.Limiter }

// Step takes nothing for a request that is too large.
func (l generous) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	next, d := l.Limiter.Step(s, at, cost)
	if !d.Allow && d.RetryAfter == reference.Never {
		d.Allow, d.RetryAfter = true, 0
		return s, d
	}
	return next, d
}

// burning takes what is left where a request is denied.
type burning struct{ reference.Limiter }

// Step uses up the units left after a denial.
func (l burning) Step(s reference.State, at time.Duration, cost int64) (reference.State, reference.Decision) {
	next, d := l.Limiter.Step(s, at, cost)
	if !d.Allow && d.Remaining > 0 {
		next, _ = l.Limiter.Step(next, at, d.Remaining)
		d.Remaining = 0
	}
	return next, d
}

// outlived is a fixed window whose count is one window late for a while.
type outlived struct {
	quota  int64
	window time.Duration
}

type outlivedState struct {
	index       int64
	used, stale int64
	seen        bool
}

// Init returns the state of a partition never seen.
func (l outlived) Init() reference.State { return outlivedState{} }

// Step denies where either count is full while the old one is read.
func (l outlived) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	w, index := s.(outlivedState), int64(at/l.window)
	if !w.seen || index != w.index {
		stale := int64(0)
		if w.seen && index == w.index+1 {
			stale = w.used
		}
		w = outlivedState{index: index, stale: stale, seen: true}
	}
	into := at % l.window
	used := w.used
	if into < l.window/4 {
		used += w.stale
	}
	d := reference.Decision{Allow: used+cost <= l.quota, Reset: l.window - into}
	if d.Allow {
		w.used, used = w.used+cost, used+cost
	} else if d.RetryAfter = d.Reset; cost > l.quota {
		d.RetryAfter = reference.Never
	}
	d.Remaining = max(0, l.quota-used)
	return w, d
}
