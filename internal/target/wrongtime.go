package target

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// overtaken stamps requests before they wait for their lock, for a random time up to wait.
type overtaken struct {
	bench
	wait   time.Duration
	mu     sync.Mutex
	random *rand.Rand
	states map[string]reference.State
}

func newOvertaken(b bench, wait time.Duration) *overtaken {
	return &overtaken{bench: b, wait: wait, random: rand.New(rand.NewPCG(b.seed, 2)),
		states: map[string]reference.State{}}
}

// Decide decides at a time that may lie before that of the last decision.
func (o *overtaken) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	stamp := o.clock.at()
	o.mu.Lock()
	wait := time.Duration(o.random.Int64N(int64(o.wait)))
	o.mu.Unlock()
	if !o.clock.sleepUntil(ctx, stamp+wait) {
		return Ruling{}, ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	state, ok := o.states[key]
	if !ok {
		state = o.limiter.Init()
	}
	var d reference.Decision
	o.states[key], d = o.limiter.Step(state, stamp, cost)
	return Ruling{Decision: d, At: stamp}, nil
}
