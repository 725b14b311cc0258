package lab

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

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
