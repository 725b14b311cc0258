package target

import (
	"container/list"
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// storeFaults are those of keeping and sharing states.
var storeFaults = []Fault{
	{
		Name: "check-then-act", Class: "A1",
		Sentence: "reads a state, takes one to five milliseconds, and writes it back without a lock",
		Citation: "https://github.com/nestjs/throttler/issues/1303",
		decider:  func(b bench) Decider { return newRacing(b) },
	},
	{
		Name: "per-replica-counters", Class: "A5",
		Sentence: "each replica counts for itself, and requests go round the replicas",
		Citation: "https://github.com/Kong/kong/issues/2669",
		decider:  func(b bench) Decider { return newPrivate(b) },
	},
	{
		Name: "replicas-sync-late", Class: "A6",
		Sentence: "replicas count for themselves and tell each other once a second",
		Citation: "https://github.com/Kong/kong/pull/12003",
		decider:  func(b bench) Decider { return newSyncing(b, time.Second) },
	},
	{
		Name: "evicts-keys", Class: "A10",
		Sentence: "remembers the last 64 partitions only; the others are as good as new",
		Citation: "https://github.com/elastic/apm-server/pull/1367",
		decider:  func(b bench) Decider { return newEvicting(b, 64) },
	},
	{
		Name: "state-lost", Class: "A9",
		Sentence: "forgets every partition every three seconds",
		Citation: "https://github.com/nuetzliches/hookaido/pull/239",
		decider:  func(b bench) Decider { return newAmnesiac(b, 3*time.Second) },
	},
	{
		Name: "delays-instead", Class: "C17",
		Sentence: "holds requests back until there is room, without bound, where it should deny them",
		Citation: "https://docs.apigee.com/api-platform/reference/policies/spike-arrest-policy",
		decider:  func(b bench) Decider { return patient{Decider: newMemory(b.limiter, b.clock, b.idle), clock: b.clock} },
	},
}

// racing reads and writes states without a lock around both.
type racing struct {
	bench
	mu     sync.Mutex
	random *rand.Rand
	states map[string]reference.State
}

func newRacing(b bench) *racing {
	return &racing{bench: b, random: rand.New(rand.NewPCG(b.seed, 1)), states: map[string]reference.State{}}
}

// Decide reads, waits, decides and writes. The lock guards the map, not the decision.
func (r *racing) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	r.mu.Lock()
	state, ok := r.states[key]
	gap := time.Millisecond + time.Duration(r.random.Int64N(int64(4*time.Millisecond)))
	r.mu.Unlock()
	if !ok {
		state = r.limiter.Init()
	}
	if !r.clock.sleepUntil(ctx, r.clock.at()+gap) {
		return Ruling{}, ctx.Err()
	}
	at := r.clock.at()
	state, d := r.limiter.Step(state, at, cost)
	r.mu.Lock()
	r.states[key] = state
	r.mu.Unlock()
	return Ruling{Decision: d, At: at}, nil
}

// replicasOf returns how many replicas a fault of replication shows: at least two.
func replicasOf(b bench) int { return max(2, b.replicas) }

// private is a number of limiters that know nothing of each other.
type private struct {
	replicas []*memory
	turn     atomic.Uint64
}

func newPrivate(b bench) *private {
	p := &private{replicas: make([]*memory, replicasOf(b))}
	for i := range p.replicas {
		p.replicas[i] = newMemory(b.limiter, b.clock, b.idle)
	}
	return p
}

// Decide asks the next replica.
func (p *private) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	return p.replicas[p.turn.Add(1)%uint64(len(p.replicas))].Decide(ctx, key, cost)
}

// syncing is a number of limiters that exchange what they admitted from time to time.
type syncing struct {
	bench
	every time.Duration
	mu    sync.Mutex
	cells map[string]*syncingCell
}

// syncingCell is one partition: what all replicas knew at the last exchange, what each knows now, and what was admitted
// since.
type syncingCell struct {
	shared reference.State
	local  []reference.State
	since  []admission
	synced time.Duration
	turn   int
}

type admission struct {
	at   time.Duration
	cost int64
}

func newSyncing(b bench, every time.Duration) *syncing {
	return &syncing{bench: b, every: every, cells: map[string]*syncingCell{}}
}

// Decide asks the next replica, after an exchange where one is due.
func (s *syncing) Decide(_ context.Context, key string, cost int64) (Ruling, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.clock.at()
	c := s.cells[key]
	if c == nil {
		c = &syncingCell{shared: s.limiter.Init(), local: make([]reference.State, replicasOf(s.bench)), synced: at}
		s.cells[key] = c
		c.exchange(s.limiter, at)
	}
	if at-c.synced >= s.every {
		c.exchange(s.limiter, at)
	}
	c.turn = (c.turn + 1) % len(c.local)
	var d reference.Decision
	c.local[c.turn], d = s.limiter.Step(c.local[c.turn], at, cost)
	if d.Allow {
		c.since = append(c.since, admission{at, cost})
	}
	return Ruling{Decision: d, At: at}, nil
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

// evicting keeps a bounded number of partitions, those asked for last.
type evicting struct {
	bench
	bound int
	mu    sync.Mutex
	order *list.List // of *evictingCell, the last asked for in front
	cells map[string]*list.Element
}

type evictingCell struct {
	key   string
	state reference.State
}

func newEvicting(b bench, bound int) *evicting {
	return &evicting{bench: b, bound: bound, order: list.New(), cells: map[string]*list.Element{}}
}

// Decide forgets the partition that was silent longest where a new one finds no room.
func (e *evicting) Decide(_ context.Context, key string, cost int64) (Ruling, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.clock.at()
	element := e.cells[key]
	if element == nil {
		if e.order.Len() == e.bound {
			oldest := e.order.Remove(e.order.Back()).(*evictingCell)
			delete(e.cells, oldest.key)
		}
		element = e.order.PushFront(&evictingCell{key: key, state: e.limiter.Init()})
		e.cells[key] = element
	}
	e.order.MoveToFront(element)
	c := element.Value.(*evictingCell)
	var d reference.Decision
	c.state, d = e.limiter.Step(c.state, at, cost)
	return Ruling{Decision: d, At: at}, nil
}

// amnesiac forgets everything at regular times.
type amnesiac struct {
	bench
	every time.Duration
	mu    sync.Mutex
	age   time.Duration
	now   *memory
}

func newAmnesiac(b bench, every time.Duration) *amnesiac { return &amnesiac{bench: b, every: every} }

// Decide starts all partitions anew in each period.
func (a *amnesiac) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	a.mu.Lock()
	if age := (a.clock.at() - a.clock.zero) / a.every; a.now == nil || age != a.age {
		a.now, a.age = newMemory(a.limiter, a.clock, a.idle), age
	}
	m := a.now
	a.mu.Unlock()
	return m.Decide(ctx, key, cost)
}

// patient waits where its decider denies.
type patient struct {
	Decider
	clock *clock
}

// Decide asks again as often as it is told to, until the request is admitted or its client leaves.
func (p patient) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	for {
		r, err := p.Decider.Decide(ctx, key, cost)
		if err != nil || r.Allow || r.RetryAfter == reference.Never {
			return r, err
		}
		if !p.clock.sleepUntil(ctx, r.At+r.RetryAfter) {
			return Ruling{}, ctx.Err()
		}
	}
}
