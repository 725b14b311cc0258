package lab

import (
	"context"
	"fmt"
	"net/http"
	"sync"
)

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

// complete returns the choice, "error" for an empty one. Another word is an error.
func (c OnStoreError) complete() (OnStoreError, error) {
	switch c {
	case "":
		return StoreErrorFails, nil
	case StoreErrorFails, StoreErrorAllows, StoreErrorDenies:
		return c, nil
	}
	return c, fmt.Errorf("target: choice on a store error %q: it is %q, %q or %q", c, StoreErrorAllows,
		StoreErrorDenies, StoreErrorFails)
}

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
