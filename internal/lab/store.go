package lab

import (
	"context"
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
