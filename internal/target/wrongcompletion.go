package target

import (
	"context"
	"github.com/rlcheck/rlcheck/internal/target/state"
	"sync/atomic"
)

// leaking forgets that some requests are complete.
type leaking struct {
	state.Decider
	admitted atomic.Uint64
}

// Decide is that of the decider inside, but for every fourth completion.
func (l *leaking) Decide(ctx context.Context, key string, cost int64) (state.Ruling, error) {
	r, err := l.Decider.Decide(ctx, key, cost)
	if r.Complete != nil && l.admitted.Add(1)%4 == 0 {
		r.Complete = nil
	}
	return r, err
}

// hasty completes every request at once.
type hasty struct{ state.Decider }

// Decide is that of the decider inside.
func (h hasty) Decide(ctx context.Context, key string, cost int64) (state.Ruling, error) {
	r, err := h.Decider.Decide(ctx, key, cost)
	if r.Complete != nil {
		r.Complete()
		r.Complete = nil
	}
	return r, err
}
