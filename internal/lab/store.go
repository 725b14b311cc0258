package lab

import (
	"context"
	"hash/maphash"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
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

// deciding is a Decider that is one function.
type deciding func(ctx context.Context, key string, cost int64) (Ruling, error)

func (d deciding) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	return d(ctx, key, cost)
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

// shards is how many locks share the partitions. It is a power of two.
const shards = 256

// Memory keeps the states of a limiter in the process. Its memory follows the partitions that are not as good
// as new. When a shard has doubled, it forgets those that were silent for longer than idle.
type Memory struct {
	Setup
	// idle is the silence after which a state equals that of a new partition; 0: every state is kept.
	idle time.Duration
	// told: the limiter must be told when a request is complete.
	told   bool
	seed   maphash.Seed
	shards [shards]shard
}

// shard is a part of the partitions under one lock. Decisions are made inside it, so nobody sees half a
// change.
type shard struct {
	mu    sync.Mutex
	cells map[string]*cell
	// sweepAt is the number of cells at which idle ones are sought.
	sweepAt int
	// Shards that share a cache line would slow each other down.
	_ [64]byte
}

// cell is one partition.
type cell struct {
	state reference.State
	last  time.Duration
	// flying is how many requests are admitted and not complete, if the limiter is told of completions.
	flying int
}

// minSweep is the number of cells below which a shard is not swept.
const minSweep = 64

// NewMemory returns a decider that keeps the states of the limiter of b in the process.
func NewMemory(b Setup) *Memory {
	m := &Memory{Setup: b, told: b.Limit.Completes(), seed: maphash.MakeSeed()}
	if !b.KeepAll {
		m.idle = idleTime(b.Limit)
	}
	for i := range m.shards {
		m.shards[i].cells = map[string]*cell{}
		m.shards[i].sweepAt = minSweep
	}
	return m
}

// Decide takes the time inside the partition's lock, so times and decisions have the same order. It never
// fails.
func (m *Memory) Decide(_ context.Context, key string, cost int64) (Ruling, error) {
	s := &m.shards[maphash.String(m.seed, key)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	at := m.Clock.At()
	c := s.cells[key]
	if c == nil {
		if m.idle > 0 && len(s.cells) >= s.sweepAt {
			s.sweep(at - m.idle)
		}
		c = &cell{state: m.Limiter.Init(), last: at}
		// The key may be a part of a whole header block.
		s.cells[strings.Clone(key)] = c
	}
	// A clock that steps back is taken as the largest time seen.
	at = max(at, c.last)
	var d reference.Decision
	c.state, d = m.Limiter.Step(c.state, at, cost)
	c.last = at
	r := Ruling{Decision: d, At: at}
	if m.told && (d.Allow || m.PayDenied) {
		c.flying++
		r.Complete = func(cost int64) { m.complete(s, c, cost) }
	}
	if m.Limit.Cleared() && d.Allow {
		r.Clear = func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			c.state = m.Limiter.Init()
		}
	}
	if m.Views {
		r.Views = reference.Views(m.Limiter, c.state, at)
	}
	return r, nil
}

// complete ends a request of a partition. A partition is kept until its last request has ended.
func (m *Memory) complete(s *shard, c *cell, cost int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.last = max(c.last, m.Clock.At())
	c.state = reference.Complete(m.Limiter, c.state, c.last, cost)
	c.flying--
}

// Knows tells whether the state of a partition is kept.
func (m *Memory) Knows(key string) bool {
	s := &m.shards[maphash.String(m.seed, key)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cells[key] != nil
}

// sweep forgets the partitions last seen before t.
func (s *shard) sweep(t time.Duration) {
	for key, c := range s.cells {
		if c.last < t && c.flying == 0 {
			delete(s.cells, key)
		}
	}
	s.sweepAt = max(minSweep, 2*len(s.cells))
}

// idleTime returns a silence after which every policy of l is as good as new. It is 0 if there is none: a
// bucket that starts empty never is, one that is refilled in batches keeps the rhythm of its batches, and the
// debt of one that settles has no end.
func idleTime(l spec.Limit) time.Duration {
	var idle time.Duration
	for _, p := range l {
		if p.Start != spec.StartFull && p.Start != "" || p.Refill == spec.RefillInterval ||
			p.Bucketed() && p.Charge == spec.ChargeCompletion {
			return 0
		}
		idle = max(idle, p.Recovery()+p.Rate.Per+p.LongestBan()+p.Tick+time.Second)
	}
	return idle
}

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
