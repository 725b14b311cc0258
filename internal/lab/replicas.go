package lab

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// Counters says what the replicas of a target know of each other.
type Counters string

// The kinds of counters. Only the first keeps the declared limit.
const (
	// CountersShared: all replicas decide on one state. It is also the meaning of the zero value.
	CountersShared Counters = "shared"
	// CountersPrivate: each replica counts for itself, so n of them admit n times as much.
	CountersPrivate Counters = "private"
	// CountersSynced: each replica counts for itself, and they exchange what they admitted every SyncEvery.
	CountersSynced Counters = "synced"
)

// Balance says which replica gets a request. Both kinds take turns.
type Balance string

// The balances. The zero value means BalanceRequest.
const (
	BalanceRequest Balance = "request"
	// BalanceConnection: all requests of a connection go to one replica, as behind a balancer of TCP
	// connections.
	BalanceConnection Balance = "connection"
)

// balancer distributes requests in turns over a number of replicas.
type balancer struct {
	replicas     uint64
	byConnection bool
	turn         atomic.Uint64
}

func newBalancer(b Setup) *balancer {
	return &balancer{replicas: uint64(b.Replicas), byConnection: b.Balance == BalanceConnection}
}

// pick returns the replica of a request with the context. If the connection is not known, every request
// counts as one.
func (b *balancer) pick(ctx context.Context) int {
	if b.byConnection {
		if number, ok := ctx.Value(ConnectionKey{}).(uint64); ok {
			return int(number % b.replicas)
		}
	}
	return int(b.turn.Add(1) % b.replicas)
}

// newPrivate returns replicas that know nothing of each other.
func newPrivate(b Setup) Decider {
	replicas, balancer := make([]*Memory, b.Replicas), newBalancer(b)
	for i := range replicas {
		replicas[i] = NewMemory(b)
	}
	return deciding(func(ctx context.Context, key string, cost int64) (Ruling, error) {
		return replicas[balancer.pick(ctx)].Decide(ctx, key, cost)
	})
}

// syncingCell is one partition: the state of all replicas at the last exchange, the state of each now, and
// what was admitted since.
type syncingCell struct {
	shared reference.State
	local  []reference.State
	since  []admission
	synced time.Duration
}

type admission struct {
	at   time.Duration
	cost int64
}

// newSyncing returns replicas that exchange what they admitted, with a period of every.
func newSyncing(b Setup, every time.Duration) Decider {
	balancer, cells := newBalancer(b), map[string]*syncingCell{}
	var mu sync.Mutex
	return deciding(func(ctx context.Context, key string, cost int64) (Ruling, error) {
		replica := balancer.pick(ctx)
		mu.Lock()
		defer mu.Unlock()
		at := b.Clock.At()
		c := cells[key]
		if c == nil {
			c = &syncingCell{shared: b.Limiter.Init(), local: make([]reference.State, b.Replicas), synced: at}
			cells[key] = c
			c.exchange(b.Limiter, at)
		}
		if at-c.synced >= every {
			c.exchange(b.Limiter, at)
		}
		var d reference.Decision
		c.local[replica], d = b.Limiter.Step(c.local[replica], at, cost)
		if d.Allow {
			c.since = append(c.since, admission{at, cost})
		}
		return Ruling{Decision: d, At: at}, nil
	})
}

// exchange brings what was admitted since the last exchange to every replica.
func (c *syncingCell) exchange(l reference.Limiter, at time.Duration) {
	for _, a := range c.since {
		c.shared, _ = l.Step(c.shared, a.at, a.cost)
	}
	c.since, c.synced = c.since[:0], at
	for i := range c.local {
		c.local[i] = c.shared
	}
}

// nothing admits nothing.
func nothing(c *Clock) Decider {
	return deciding(func(context.Context, string, int64) (Ruling, error) {
		return Ruling{Decision: reference.Decision{RetryAfter: reference.Never}, At: c.At()}, nil
	})
}
