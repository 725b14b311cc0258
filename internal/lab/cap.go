package lab

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Cap is a limit on many clients together, in addition to the limit of each: all clients of a tenant, of a
// route, or of an address. All must admit a request. A limit that denies it takes nothing from the others.
type Cap struct {
	// Path counts only the requests for it, matched as Rule.Path. "" counts all.
	Path string
	// ByAddress counts each client address separately.
	ByAddress bool
	Limit     spec.Limit
}

// capped is a cap, its limiter, and the states of its partitions.
type capped struct {
	Cap
	limiter reference.Limiter
	states  map[string]reference.State
}

// addCaps builds the limiters of the caps, without those that a fault removes.
func (t *Target) addCaps() error {
	for _, c := range t.opts.Caps {
		if t.fault.cap != nil && !t.fault.cap(c) {
			continue
		}
		l, err := reference.NewLimit(c.Limit)
		if err != nil {
			return fmt.Errorf("target: cap: %w", err)
		}
		t.caps = append(t.caps, capped{Cap: c, limiter: l, states: map[string]reference.State{}})
	}
	t.turn = make(chan struct{}, 1)
	return nil
}

// key returns the partition of a cap under which a request is counted, and whether it is counted.
func (c *capped) key(t *Target, r *http.Request) (string, bool) {
	if c.Path != "" && !strings.EqualFold(path.Clean("/"+r.URL.Path), path.Clean("/"+c.Path)) {
		return "", false
	}
	if c.ByAddress {
		return t.clientKey(r), true
	}
	return "", true
}

// step decides a request of a partition and keeps nothing.
func (c *capped) step(key string, at time.Duration, cost int64) (reference.State, reference.Decision) {
	state, known := c.states[key]
	if !known {
		state = c.limiter.Init()
	}
	return c.limiter.Step(state, at, cost)
}

// decideCapped asks the caps, and then the limiter of the client. The request is delayed by the slowest of
// them. Only a limit that denies it keeps that, and the caps keep it if all admit it.
func (front *Target) decideCapped(t *Target, r *http.Request, cost int64) (Ruling, error) {
	select {
	case front.turn <- struct{}{}:
	case <-r.Context().Done():
		return Ruling{}, r.Context().Err()
	}
	defer func() { <-front.turn }()
	at, delay := front.clock.At(), time.Duration(0)
	var keep []func()
	var complete []func(units int64)
	for i := range front.caps {
		c := &front.caps[i]
		key, counted := c.key(front, r)
		if !counted {
			continue
		}
		next, d := c.step(key, at, cost)
		if !d.Allow {
			c.states[key] = next
			return Ruling{Decision: d, At: at}, nil
		}
		delay = max(delay, d.Delay)
		keep = append(keep, func() { c.states[key] = next })
		complete = append(complete, func(units int64) {
			c.states[key] = reference.Complete(c.limiter, c.states[key], front.clock.At(), units)
		})
	}
	ruling, err := t.decide(r, cost)
	if err != nil || !ruling.Allow {
		return ruling, err
	}
	for _, f := range keep {
		f()
	}
	ruling.Delay = max(ruling.Delay, delay)
	inner := ruling.Complete
	ruling.Complete = func(units int64) {
		front.turn <- struct{}{}
		for _, f := range complete {
			f(units)
		}
		<-front.turn
		if inner != nil {
			inner(units)
		}
	}
	return ruling, nil
}
