package target

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

// bench is what a decider is built from.
type bench struct {
	// limiter decides by limit, rightly or not.
	limiter reference.Limiter
	limit   spec.Limit
	clock   *clock
	// replicas share the requests as balance says.
	replicas int
	balance  Balance
	// seed makes random choices repeatable.
	seed uint64
	// keepAll keeps the state of every partition for ever: nobody knows when a limiter that is wrong has
	// forgotten one.
	keepAll bool
}
