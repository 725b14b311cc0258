// Package state keeps what a limiter knows of each partition: in memory, in replicas, or behind the interface
// of a store. One that is right and one that is wrong are kept alike.
package state

import (
	"context"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Store keeps the state of partitions outside the process: Redis, or one embedded.
type Store interface {
	// Decider returns what decides by limit on this store. A limit that the store cannot keep exactly is an
	// error.
	Decider(limit spec.Limit) (Decider, error)
	// Close gives back connections and processes.
	Close() error
}

// Decider decides on requests, each in one atomic step of its partition. It may be used by many goroutines.
type Decider interface {
	Decide(ctx context.Context, key string, cost int64) (Ruling, error)
}

// Ruling is a decision and when it was taken.
type Ruling struct {
	reference.Decision
	// At is the time of the decision on the limiter's clock, in nanoseconds since the Unix epoch.
	At time.Duration
	// Complete tells the limiter that the admitted request is complete; nil where it does not ask. It is
	// called once.
	Complete func()
}

// Setup is what a decider is built from.
type Setup struct {
	// Limiter decides by limit, rightly or not.
	Limiter reference.Limiter
	Limit   spec.Limit
	Clock   *Clock
	// Replicas share the requests as balance says.
	Replicas int
	Balance  Balance
	// Seed makes random choices repeatable.
	Seed uint64
	// KeepAll keeps the state of every partition for ever: nobody knows when a limiter that is wrong has
	// forgotten one.
	KeepAll bool
}
