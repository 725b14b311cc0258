package lab

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// overtaken reads the time of requests before they wait for their lock, for a random time up to wait.
type overtaken struct {
	Setup
	wait   time.Duration
	mu     sync.Mutex
	random *rand.Rand
	states map[string]reference.State
}

// NewOvertaken returns a decider that reads the time of requests before they wait for their lock, at most so
// long.
func NewOvertaken(b Setup, wait time.Duration) Decider {
	return &overtaken{Setup: b, wait: wait, random: rand.New(rand.NewPCG(b.Seed, 2)),
		states: map[string]reference.State{}}
}

// Decide decides at a time that may lie before that of the last decision.
func (o *overtaken) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	stamp := o.Clock.At()
	o.mu.Lock()
	wait := time.Duration(o.random.Int64N(int64(o.wait)))
	o.mu.Unlock()
	if !o.Clock.SleepUntil(ctx, stamp+wait) {
		return Ruling{}, ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	known, ok := o.states[key]
	if !ok {
		known = o.Limiter.Init()
	}
	var d reference.Decision
	o.states[key], d = o.Limiter.Step(known, stamp, cost)
	return Ruling{Decision: d, At: stamp}, nil
}
