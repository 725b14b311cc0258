package lab

import (
	"context"
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
		r.Complete()
		r.Complete = nil
	}
	return r, err
}
