package lab

import (
	"context"
	"sync"
	"sync/atomic"
)

// Leaking forgets that some requests are complete.
type Leaking struct {
	Decider
	admitted atomic.Uint64
}

// Decide is that of the inner decider, but drops every fourth completion.
func (l *Leaking) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	r, err := l.Decider.Decide(ctx, key, cost)
	if r.Complete != nil && l.admitted.Add(1)%4 == 0 {
		r.Complete = nil
	}
	return r, err
}

// Hasty completes every request at once.
type Hasty struct{ Decider }

// Decide is that of the inner decider, and completes the request at once.
func (h Hasty) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	r, err := h.Decider.Decide(ctx, key, cost)
	if r.Complete != nil {
		r.Complete(cost)
		r.Complete = nil
	}
	return r, err
}

// Refunding admits one request more for each one whose client left before it was complete.
type Refunding struct {
	Decider
	mu sync.Mutex
	// left counts, for each partition, the requests that were left and not made up for.
	left map[string]int64
}

// Decide is that of the inner decider, unless a request that was left makes up for this one.
func (f *Refunding) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	r, err := f.Decider.Decide(ctx, key, cost)
	if err != nil {
		return r, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !r.Allow && f.left[key] >= cost {
		f.left[key] -= cost
		r.Allow, r.RetryAfter = true, 0
	}
	if r.Allow {
		r.Complete = func(cost int64) {
			if ctx.Err() != nil {
				f.mu.Lock()
				f.left[key] += cost
				f.mu.Unlock()
			}
		}
	}
	return r, err
}
