package target

import (
	"container/list"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
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
		decider:  func(b bench) Decider { return newPrivate(atLeastTwo(b)) },
	},
	{
		Name: "replicas-sync-late", Class: "A6",
		Sentence: "replicas count for themselves and tell each other once a second",
		Citation: "https://github.com/Kong/kong/pull/12003",
		fits:     untold, decider: func(b bench) Decider { return newSyncing(atLeastTwo(b), time.Second) },
	},
	{
		Name: "quota-divided", Class: "B11",
		Sentence: "gives each of eight replicas an eighth of the quota, rounded down, to nothing for a " +
			"quota under eight",
		Citation: "https://github.com/envoyproxy/envoy/pull/46702",
		decider:  func(b bench) Decider { return newDivided(b, 8) },
	},
	{
		Name: "evicts-keys", Class: "A10",
		Sentence: "remembers the last 64 partitions only; the others are as good as new",
		Citation: "https://github.com/elastic/apm-server/pull/1367",
		fits:     untold, decider: func(b bench) Decider { return newEvicting(b, 64) },
	},
	{
		Name: "state-lost", Class: "A9",
		Sentence: "forgets every partition every three seconds",
		Citation: "https://github.com/nuetzliches/hookaido/pull/239",
		decider:  func(b bench) Decider { return newAmnesiac(b, 3*time.Second) },
	},
	{
		Name: "state-lost-rarely", Class: "A9",
		Sentence: "forgets every partition once a minute",
		Citation: "https://github.com/nuetzliches/hookaido/pull/239",
		decider:  func(b bench) Decider { return newAmnesiac(b, time.Minute) },
	},
	{
		Name: "delays-instead", Class: "C17",
		Sentence: "holds requests back until there is room, without bound, where it should deny them",
		Citation: "https://docs.apigee.com/api-platform/reference/policies/spike-arrest-policy",
		fits:     untold, decider: func(b bench) Decider {
			return patient{Decider: newMemory(b),
				clock: b.clock}
		},
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
	ruling := Ruling{Decision: d, At: at}
	if d.Allow && r.limit.Completes() {
		key = strings.Clone(key) // it may be a part of a whole header block, which is used again
		ruling.Complete = func() { r.complete(key, cost) }
	}
	return ruling, nil
}

// complete ends a request, this with a lock.
func (r *racing) complete(key string, cost int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states[key] = reference.Complete(r.limiter, r.states[key], r.clock.at(), cost)
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
		a.now, a.age = newMemory(a.bench), age
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
