package target

import (
	"context"
	"github.com/rlcheck/rlcheck/internal/target/state"
	"sync"
)

// offlineQueue holds decisions while a store is gone, as the client library of a store may do with its
// commands. All are made when the store is back, in their order, whether or not somebody still waits for
// them. The zero value is empty.
type offlineQueue struct {
	mu      sync.Mutex
	waiting []func()
}

// wait adds a decision and returns it when it is made, or errStoreGone when ctx ends before.
func (q *offlineQueue) wait(ctx context.Context, decide func() (state.Ruling, error)) (state.Ruling, error) {
	var ruling state.Ruling
	var err error
	made := make(chan struct{})
	q.mu.Lock()
	q.waiting = append(q.waiting, func() {
		ruling, err = decide()
		close(made)
	})
	q.mu.Unlock()
	select {
	case <-made:
		return ruling, err
	case <-ctx.Done():
		return state.Ruling{}, errStoreGone
	}
}

// flush makes all decisions.
func (q *offlineQueue) flush() {
	q.mu.Lock()
	waiting := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	for _, decide := range waiting {
		decide()
	}
}
