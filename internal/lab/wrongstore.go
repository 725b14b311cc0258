package lab

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// divided returns limiters that know nothing of each other. Each has a share of the limit, in whole units.
func divided(b Setup, shares int64) Decider {
	b.Replicas = int(shares)
	parts := slices.Clone(b.Limit)
	for i := range parts {
		p := &parts[i]
		if p.Full() < shares {
			return nothing(b.Clock)
		}
		if p.Refills() {
			p.Rate.Per *= time.Duration(shares)
		}
		*p = p.WithFull(p.Full() / shares)
	}
	limiter, err := reference.NewLimit(parts)
	if err != nil {
		return nothing(b.Clock)
	}
	b.Limiter = limiter
	return newPrivate(b)
}

// careless has the states of all partitions under one lock, and chance.
type careless struct {
	Setup
	mu     sync.Mutex
	random *rand.Rand
	states map[string]reference.State
}

// newCareless returns a careless store. which makes its chance another one than that of others.
func newCareless(b Setup, which uint64) *careless {
	return &careless{Setup: b, random: rand.New(rand.NewPCG(b.Seed, which)),
		states: map[string]reference.State{}}
}

// look returns the state of a partition, and a random time of less than most.
func (c *careless) look(key string, most time.Duration) (reference.State, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state(key), time.Duration(c.random.Int64N(int64(most)))
}

// state returns the state of a partition. The lock is held.
func (c *careless) state(key string) reference.State {
	if s, known := c.states[key]; known {
		return s
	}
	return c.Limiter.Init()
}

// step decides a request at a time. The lock is held.
func (c *careless) step(key string, at time.Duration, cost int64) Ruling {
	var d reference.Decision
	c.states[key], d = c.Limiter.Step(c.state(key), at, cost)
	return Ruling{Decision: d, At: at}
}

// racing reads, waits, decides and writes. The lock guards the map, not the decision.
func racing(b Setup) Decider {
	c := newCareless(b, 1)
	complete := func(key string, cost int64) { // it does hold a lock
		c.mu.Lock()
		defer c.mu.Unlock()
		c.states[key] = reference.Complete(c.Limiter, c.states[key], c.Clock.At(), cost)
	}
	return deciding(func(ctx context.Context, key string, cost int64) (Ruling, error) {
		known, gap := c.look(key, 4*time.Millisecond)
		if !c.Clock.SleepUntil(ctx, c.Clock.At()+time.Millisecond+gap) {
			return Ruling{}, ctx.Err()
		}
		at := c.Clock.At()
		known, d := c.Limiter.Step(known, at, cost)
		c.mu.Lock()
		c.states[key] = known
		c.mu.Unlock()
		ruling := Ruling{Decision: d, At: at}
		if d.Allow && c.Limit.Completes() {
			key = strings.Clone(key) // it may be a part of a header block, which is used again
			ruling.Complete = func(cost int64) { complete(key, cost) }
		}
		return ruling, nil
	})
}

// evicting keeps at most bound partitions. A new one takes the room of the one that was silent longest.
func evicting(b Setup, bound int) Decider {
	c := newCareless(b, 0)
	var order []string // by the last requests
	return deciding(func(_ context.Context, key string, cost int64) (Ruling, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		at := c.Clock.At()
		if i := slices.Index(order, key); i >= 0 {
			order = slices.Delete(order, i, i+1)
		} else if len(order) == bound {
			delete(c.states, order[0])
			order = slices.Delete(order, 0, 1)
		}
		order = append(order, key)
		return c.step(key, at, cost), nil
	})
}

// amnesiac forgets all partitions with a period of every.
func amnesiac(b Setup, every time.Duration) Decider {
	var mu sync.Mutex
	var age time.Duration
	var now *Memory
	return deciding(func(ctx context.Context, key string, cost int64) (Ruling, error) {
		mu.Lock()
		if n := (b.Clock.At() - b.Clock.Zero) / every; now == nil || n != age {
			now, age = NewMemory(b), n
		}
		m := now
		mu.Unlock()
		return m.Decide(ctx, key, cost)
	})
}

// patient asks again after each wait that it is told, until the request is admitted or its client leaves.
func patient(b Setup) Decider {
	inner := NewMemory(b)
	return deciding(func(ctx context.Context, key string, cost int64) (Ruling, error) {
		for {
			r, err := inner.Decide(ctx, key, cost)
			if err != nil || r.Allow || r.RetryAfter == reference.Never {
				return r, err
			}
			if !b.Clock.SleepUntil(ctx, r.At+r.RetryAfter) {
				return Ruling{}, ctx.Err()
			}
		}
	})
}

// overtaken reads the time of a request before it waits for its lock, for a random time up to wait. So it
// decides at a time that may lie before that of the last decision.
func overtaken(b Setup, wait time.Duration) Decider {
	c := newCareless(b, 2)
	return deciding(func(ctx context.Context, key string, cost int64) (Ruling, error) {
		stamp := c.Clock.At()
		_, pause := c.look(key, wait)
		if !c.Clock.SleepUntil(ctx, stamp+pause) {
			return Ruling{}, ctx.Err()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.step(key, stamp, cost), nil
	})
}

// leaking drops every fourth completion.
func leaking(b Setup) Decider {
	var admitted atomic.Uint64
	return undone(b, func(func(int64), int64) bool { return admitted.Add(1)%4 == 0 })
}

// hasty completes every request at once.
func hasty(b Setup) Decider {
	return undone(b, func(complete func(int64), cost int64) bool { complete(cost); return true })
}

// undone leaves out the completions of admissions for which drops is true.
func undone(b Setup, drops func(complete func(int64), cost int64) bool) Decider {
	inner := NewMemory(b)
	return deciding(func(ctx context.Context, key string, cost int64) (Ruling, error) {
		r, err := inner.Decide(ctx, key, cost)
		if r.Complete != nil && drops(r.Complete, cost) {
			r.Complete = nil
		}
		return r, err
	})
}

// refunding admits one request more for each one whose client left before it was complete.
func refunding(b Setup) Decider {
	inner := NewMemory(b)
	var mu sync.Mutex
	left := map[string]int64{} // by partition, what was left and not made up for
	return deciding(func(ctx context.Context, key string, cost int64) (Ruling, error) {
		r, err := inner.Decide(ctx, key, cost)
		if err != nil {
			return r, err
		}
		mu.Lock()
		defer mu.Unlock()
		if !r.Allow && left[key] >= cost {
			left[key] -= cost
			r.Allow, r.RetryAfter = true, 0
		}
		if r.Allow {
			r.Complete = func(cost int64) {
				if ctx.Err() != nil {
					mu.Lock()
					left[key] += cost
					mu.Unlock()
				}
			}
		}
		return r, err
	})
}
