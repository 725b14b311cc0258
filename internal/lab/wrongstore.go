package lab

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// NewDivided returns limiters that know nothing of each other and have a share of the limit each, in whole
// units.
func NewDivided(b Setup, shares int64) Decider {
	b.Replicas = int(shares)
	divided := slices.Clone(b.Limit)
	for i := range divided {
		p := &divided[i]
		if p.Full() < shares {
			return Nothing{Clock: b.Clock}
		}
		if p.Refills() {
			p.Rate.Per *= time.Duration(shares)
		}
		*p = p.WithFull(p.Full() / shares)
	}
	limiter, err := reference.NewLimit(divided)
	if err != nil {
		return Nothing{Clock: b.Clock}
	}
	b.Limiter = limiter
	return NewPrivate(b)
}

// careless is a decider with the states of all partitions under one lock, and with chance.
type careless struct {
	Setup
	mu     sync.Mutex
	random *rand.Rand
	states map[string]reference.State
}

// newCareless returns a careless decider. which makes its chance another one than that of others.
func newCareless(b Setup, which uint64) *careless {
	return &careless{Setup: b, random: rand.New(rand.NewPCG(b.Seed, which)),
		states: map[string]reference.State{}}
}

// look returns the state of a partition, and a random time of less than most.
func (c *careless) look(key string, most time.Duration) (reference.State, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state(key), time.Duration(c.random.Int64N(int64(most)))
}

// state returns the state of a partition. The lock is held.
func (c *careless) state(key string) reference.State {
	if s, known := c.states[key]; known {
		return s
	}
	return c.Limiter.Init()
}

// racing reads and writes states without one lock around both.
type racing struct{ *careless }

// NewRacing returns limiters that read and write states without one lock around both.
func NewRacing(b Setup) Decider { return racing{newCareless(b, 1)} }

// Decide reads, waits, decides and writes. The lock guards the map, not the decision.
func (r racing) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	known, gap := r.look(key, 4*time.Millisecond)
	if !r.Clock.SleepUntil(ctx, r.Clock.At()+time.Millisecond+gap) {
		return Ruling{}, ctx.Err()
	}
	at := r.Clock.At()
	known, d := r.Limiter.Step(known, at, cost)
	r.mu.Lock()
	r.states[key] = known
	r.mu.Unlock()
	ruling := Ruling{Decision: d, At: at}
	if d.Allow && r.Limit.Completes() {
		key = strings.Clone(key) // it may be a part of a header block, which is used again
		ruling.Complete = func(cost int64) { r.complete(key, cost) }
	}
	return ruling, nil
}

// complete ends a request. It does hold a lock.
func (r racing) complete(key string, cost int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states[key] = reference.Complete(r.Limiter, r.states[key], r.Clock.At(), cost)
}

// evicting keeps a bounded number of partitions: those with the latest requests.
type evicting struct {
	*careless
	bound int
	// order has the partitions in the order of their last requests.
	order []string
}

// NewEvicting returns a decider that keeps at most bound partitions.
func NewEvicting(b Setup, bound int) Decider {
	return &evicting{careless: newCareless(b, 0), bound: bound}
}

// Decide forgets the partition that was silent longest if a new one finds no room.
func (e *evicting) Decide(_ context.Context, key string, cost int64) (Ruling, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.Clock.At()
	if i := slices.Index(e.order, key); i >= 0 {
		e.order = slices.Delete(e.order, i, i+1)
	} else if len(e.order) == e.bound {
		delete(e.states, e.order[0])
		e.order = slices.Delete(e.order, 0, 1)
	}
	e.order = append(e.order, key)
	var d reference.Decision
	e.states[key], d = e.Limiter.Step(e.state(key), at, cost)
	return Ruling{Decision: d, At: at}, nil
}

// amnesiac forgets everything at regular times.
type amnesiac struct {
	Setup
	every time.Duration
	mu    sync.Mutex
	age   time.Duration
	now   *Memory
}

// NewAmnesiac returns a decider that forgets everything with a period of every.
func NewAmnesiac(b Setup, every time.Duration) Decider { return &amnesiac{Setup: b, every: every} }

// Decide starts all partitions again in each period.
func (a *amnesiac) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	a.mu.Lock()
	if age := (a.Clock.At() - a.Clock.Zero) / a.every; a.now == nil || age != a.age {
		a.now, a.age = NewMemory(a.Setup), age
	}
	m := a.now
	a.mu.Unlock()
	return m.Decide(ctx, key, cost)
}

// Patient waits if its decider denies.
type Patient struct {
	Decider
	Clock *Clock
}

// Decide asks again after each wait that it is told, until the request is admitted or its client leaves.
func (p Patient) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	for {
		r, err := p.Decider.Decide(ctx, key, cost)
		if err != nil || r.Allow || r.RetryAfter == reference.Never {
			return r, err
		}
		if !p.Clock.SleepUntil(ctx, r.At+r.RetryAfter) {
			return Ruling{}, ctx.Err()
		}
	}
}

// overtaken reads the time of requests before they wait for their lock, for a random time up to wait.
type overtaken struct {
	*careless
	wait time.Duration
}

// NewOvertaken returns a decider that reads the time of requests before they wait for their lock, at most so
// long.
func NewOvertaken(b Setup, wait time.Duration) Decider { return overtaken{newCareless(b, 2), wait} }

// Decide decides at a time that may lie before that of the last decision.
func (o overtaken) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	stamp := o.Clock.At()
	_, wait := o.look(key, o.wait)
	if !o.Clock.SleepUntil(ctx, stamp+wait) {
		return Ruling{}, ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var d reference.Decision
	o.states[key], d = o.Limiter.Step(o.state(key), stamp, cost)
	return Ruling{Decision: d, At: stamp}, nil
}

// Leaking forgets that some requests are complete.
type Leaking struct {
	Decider
	admitted atomic.Uint64
}

// Decide is that of the inner decider, but drops every fourth completion.
func (l *Leaking) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	r, err := l.Decider.Decide(ctx, key, cost)
	if r.Complete != nil && l.admitted.Add(1)%4 == 0 {
		r.Complete = nil
	}
	return r, err
}

// Hasty completes every request at once.
type Hasty struct{ Decider }

// Decide is that of the inner decider, and completes the request at once.
func (h Hasty) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	r, err := h.Decider.Decide(ctx, key, cost)
	if r.Complete != nil {
		r.Complete(cost)
		r.Complete = nil
	}
	return r, err
}

// Refunding admits one request more for each one whose client left before it was complete.
type Refunding struct {
	Decider
	mu sync.Mutex
	// left counts, for each partition, the requests that were left and not made up for.
	left map[string]int64
}

// Decide is that of the inner decider, unless a request that was left makes up for this one.
func (f *Refunding) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	r, err := f.Decider.Decide(ctx, key, cost)
	if err != nil {
		return r, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !r.Allow && f.left[key] >= cost {
		f.left[key] -= cost
		r.Allow, r.RetryAfter = true, 0
	}
	if r.Allow {
		r.Complete = func(cost int64) {
			if ctx.Err() != nil {
				f.mu.Lock()
				f.left[key] += cost
				f.mu.Unlock()
			}
		}
	}
	return r, err
}
