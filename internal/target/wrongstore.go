package target

import (
	"container/list"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// atLeastTwo returns b with two replicas or more: fewer show no fault of replication.
func atLeastTwo(b bench) bench {
	b.replicas = max(2, b.replicas)
	return b
}

// newDivided returns limiters that know nothing of each other and have a share of the limit each, in whole
// units.
func newDivided(b bench, shares int64) Decider {
	b.replicas = int(shares)
	divided := slices.Clone(b.limit)
	for i := range divided {
		p := &divided[i]
		if p.Full() < shares {
			return nothing{b.clock}
		}
		if p.Refills() {
			p.Rate.Per *= time.Duration(shares)
		}
		*p = p.WithFull(p.Full() / shares)
	}
	limiter, err := reference.NewLimit(divided)
	if err != nil {
		return nothing{b.clock}
	}
	b.limiter = limiter
	return newPrivate(b)
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
