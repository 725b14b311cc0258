package fleet

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// mostAgents is more than were ever simulated.
const mostAgents = 10_000

// Options are the options of a coordinator.
type Options struct {
	// Run is the name of the run, which no other run has. Version is that of the program.
	Run, Version string
	// Agents is the number of agents, at least 1. Deal says how they share out the requests.
	Agents int
	Deal   Deal
	// Within is how long all agents may take to be ready.
	Within time.Duration
	// Spill makes the file for the pieces of all parts.
	Spill func() (timeline.Spill, error)
	// Say gets messages on what the agents do; nil: nobody does.
	Say func(format string, args ...any)
}

// Coordinator leads a run.
type Coordinator struct {
	Options
	conn Conn
	base time.Time
	// clock is the clock of the coordinator.
	clock Clock
	round int
	// renewed is when the lease was last renewed, by now.
	mu      sync.Mutex
	renewed time.Duration

	stop context.CancelFunc
	done sync.WaitGroup
}

// Lead begins a run. Agents that wait for a run join it. Close ends it.
func Lead(ctx context.Context, conn Conn, o Options) (*Coordinator, error) {
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	c := &Coordinator{Options: o, conn: conn, base: time.Now()}
	c.clock.now = c.now
	if err := c.renew(ctx); err != nil {
		return nil, err
	}
	announce := []any{"xadd", runsKey, "maxlen", "~", 100, "*", "run", o.Run}
	if _, err := exchange(ctx, conn, announce); err != nil {
		return nil, err
	}
	leading, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.done.Go(func() {
		for pause(leading, renewEvery) {
			_ = c.renew(leading) // if this fails for long, agents stop, which is noticed
		}
	})
	return c, nil
}

func (c *Coordinator) now() time.Duration { return time.Since(c.base) }

func (c *Coordinator) renew(ctx context.Context) error {
	asked := c.now()
	_, err := exchange(ctx, c.conn,
		[]any{"set", key(c.Run, "lease"), c.Version, "px", leaseFor.Milliseconds()})
	if err == nil {
		c.mu.Lock()
		c.renewed = asked
		c.mu.Unlock()
	}
	return err
}

// lapsed tells whether agents may have stopped because they heard nothing of the coordinator.
func (c *Coordinator) lapsed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()-c.renewed > leaseFor
}

// Close ends the run. Agents end, and the Redis server soon keeps nothing of it.
func (c *Coordinator) Close() error {
	c.stop()
	c.done.Wait()
	_, err := exchange(context.Background(), c.conn,
		[]any{"set", key(c.Run, "over"), "1", "px", keptFor.Milliseconds()},
		[]any{"del", key(c.Run, "round")}, []any{"del", key(c.Run, "lease")})
	return err
}

// Recording is one schedule that all agents send together.
type Recording struct {
	// Order is what the agents are told. Digest is that of everything that decides what is sent.
	Order  []byte
	Digest string
	// Schedule is the whole schedule.
	Schedule *timeline.Schedule
	// Do does what happens in a Hook phase. It may be nil if there is none.
	Do func(ctx context.Context, e timeline.Event) error
	// Progress is called now and then with the sums of all agents. May be nil.
	Progress func(Beat)
}

// Unready is the error of a recording that did not begin: no request was sent.
type Unready struct{ Why string }

func (e *Unready) Error() string { return e.Why }

// Record lets the agents send a schedule and returns what they recorded. Gathered.Missing says what is
// missing. The error is an *Unready if nothing was sent. When ctx ends, all agents stop, and what they
// recorded is returned.
func (c *Coordinator) Record(ctx context.Context, r Recording) (*Gathered, error) {
	c.round++
	x := &round{c: c, r: r, n: c.round, meets: meets(r.Schedule)}
	x.g = &Gathered{schedule: r.Schedule, planned: Planned(r.Schedule, c.Agents, c.Deal),
		shelf: timeline.NewShelf(c.Spill), parts: make([]part, c.Agents)}
	err := x.run(ctx)
	x.forget()
	if err != nil {
		x.g.Close()
		return nil, err
	}
	return x.g, nil
}

// give puts the parts of a recording where agents find them.
func (x *round) give(ctx context.Context) error {
	run, n := x.c.Run, x.n
	shards := keyOf(run, "shards", n)
	ttl := keptFor.Milliseconds()
	commands := [][]any{
		{"set", keyOf(run, "order", n), string(x.r.Order), "px", ttl},
		{"xgroup", "create", shards, group, "0", "mkstream"},
	}
	for i := range x.c.Agents {
		commands = append(commands, add(shards, shard{Part: i, Of: x.c.Agents, Version: x.c.Version,
			Digest: x.r.Digest}))
	}
	commands = append(commands, []any{"pexpire", shards, ttl},
		[]any{"set", key(run, "round"), n, "px", ttl})
	_, err := exchangeWithin(ctx, patience, x.c.conn, commands...)
	return err
}

// forget deletes what the Redis server has of a recording.
func (x *round) forget() {
	run, n := x.c.Run, x.n
	commands := [][]any{{"del", key(run, "round")}}
	for _, what := range []string{"order", "shards", "reports", "beats"} {
		commands = append(commands, []any{"del", keyOf(run, what, n)})
	}
	// Agents may still read that they must stop.
	commands = append(commands, []any{"pexpire", keyOf(run, "control", n), keptFor.Milliseconds()})
	for i := range x.g.parts {
		commands = append(commands, []any{"del", resultsKey(run, n, i)})
	}
	_, _ = exchange(context.Background(), x.c.conn, commands...) // otherwise they expire
}

// tell sends a message to all agents.
func (x *round) tell(ctx context.Context, w control) error {
	_, err := exchange(ctx, x.c.conn, add(keyOf(x.c.Run, "control", x.n), w))
	return err
}

// soon returns an instant, by the clock of the Redis server, that all agents know before it comes.
func (x *round) soon(d time.Duration) time.Duration {
	return x.c.now() + x.c.clock.before.Middle() + d + 4*x.slowest
}

// Check refuses options that cannot be used.
func (o *Options) Check() error {
	if o.Agents < 1 || o.Agents > mostAgents {
		return fmt.Errorf("%d agents: the number is 1 to %d", o.Agents, mostAgents)
	}
	return CheckDeal(o.Deal)
}
