package lab

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Store keeps the state of partitions outside the process, as Redis does, or in an embedded server.
type Store interface {
	// Decider returns the decider for limit on this store. A limit that the store cannot keep exactly is an
	// error.
	Decider(limit spec.Limit) (Decider, error)
	// Close releases connections and ends processes.
	Close() error
}

// Decider decides requests, each in one atomic step of its partition. Many goroutines may use it.
type Decider interface {
	Decide(ctx context.Context, key string, cost int64) (Ruling, error)
}

// Ruling is a decision and its time.
type Ruling struct {
	reference.Decision
	// At is the time of the decision on the limiter's clock, in nanoseconds since the Unix epoch.
	At time.Duration
	// Complete tells the limiter that the admitted request is complete, and what it cost. nil: it need not be
	// told. It is called once.
	Complete func(cost int64)
	// Clear makes the partition a new one, after a success. nil: the limit knows no successes.
	Clear func()
	// Views says what each policy has left after the decision. nil: nobody asked (Setup.Views).
	Views []reference.View
}

// Setup is what a decider is built from.
type Setup struct {
	// Limiter decides by limit, rightly or wrongly.
	Limiter reference.Limiter
	Limit   spec.Limit
	Clock   *Clock
	// Replicas share the requests as Balance says.
	Replicas int
	Balance  Balance
	// Seed makes random choices repeatable.
	Seed uint64
	// KeepAll keeps the state of every partition for ever, as nobody knows when a wrong limiter has forgotten
	// one.
	KeepAll bool
	// Views: rulings say what each policy has left. PayDenied: denied requests are completed too.
	Views, PayDenied bool
}

// OnStoreError says what a target answers while its store does not answer.
type OnStoreError string

// The choices. The body shows each. Every field that states a quota is missing, since nobody knows the quota
// then.
const (
	// StoreErrorFails answers 500. It is also the meaning of the zero value.
	StoreErrorFails OnStoreError = "error"
	// StoreErrorAllows lets the request through (fail open).
	StoreErrorAllows OnStoreError = "allow"
	// StoreErrorDenies answers with the status of a denial, without a time to come back (fail closed).
	StoreErrorDenies OnStoreError = "deny"
)

// storeFailed answers a request that the store could not decide.
func (t *Target) storeFailed(w http.ResponseWriter, r *http.Request, err error) {
	t.storeErrors.Add(1)
	if t.opts.StoreFailed != nil {
		t.opts.StoreFailed(err)
	}
	if r.Context().Err() != nil {
		return
	}
	switch t.opts.OnStoreError {
	case StoreErrorAllows:
		writePlain(w, r, http.StatusOK, "allowed: the store of the limiter does not answer\n")
	case StoreErrorDenies:
		writePlain(w, r, t.opts.DenyStatus, "denied: the store of the limiter does not answer\n")
	default:
		writePlain(w, r, http.StatusInternalServerError, "the store of the limiter does not answer\n")
	}
}

// StoreErrors returns how many requests the store did not decide.
func (t *Target) StoreErrors() int64 { return t.storeErrors.Load() }

// offlineQueue holds decisions while a store is gone, as the client library of a store may do with its
// commands. All are made when the store is back, in their order, even if nobody waits for them any more. The
// zero value is empty.
type offlineQueue struct {
	mu      sync.Mutex
	waiting []func()
}

// wait adds a decision and returns it when it is made. It returns errStoreGone if ctx ends before.
func (q *offlineQueue) wait(ctx context.Context, decide func() (Ruling, error)) (Ruling, error) {
	var ruling Ruling
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
		return Ruling{}, errStoreGone
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
