// Package fleet lets several agents send one schedule together. A coordinator gives each agent a part of the
// schedule, lets all begin at one instant, and merges their recordings into one. They communicate through a
// Redis server and know nothing else of one another.
//
// The keys of a run have one hash tag, so that a cluster keeps them on one node, whose clock is the common
// one:
//
//	rlcheck:runs                  a stream: the names of the runs
//	rlcheck:{RUN}:lease           lives as long as the coordinator does: nobody sends without it
//	rlcheck:{RUN}:round           the number of the recording that is wanted
//	rlcheck:{RUN}:order:N         what is to be sent, for all agents
//	rlcheck:{RUN}:shards:N        a stream of the parts, which a group of consumers takes
//	rlcheck:{RUN}:reports:N       a stream: what agents report (ready, met, armed, done, failed)
//	rlcheck:{RUN}:control:N       a stream: what the coordinator orders (meet, begin, stop)
//	rlcheck:{RUN}:beats:N         a hash: how far each agent is
//	rlcheck:{RUN}:results:N:PART  a stream of the pieces of a recording
//	rlcheck:{RUN}:over            the run is over
//
// In time:
//
//	coordinator  shards -.                 .- begin: in 500 ms   .- meet, begin      .- merge
//	agent                '- clock, ready --'   [phase] met, armed '-- [phase] done, pieces
//
// No part is given out twice, since sending load twice would change it: a run whose agent dies before the
// begin does not begin.
package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Prefix is the beginning of the name of every key.
const Prefix = "rlcheck:"

// runsKey is the stream of the names of runs.
const runsKey = Prefix + "runs"

const (
	// leaseFor is how long agents may send without hearing of the coordinator. It renews its lease every
	// renewEvery.
	leaseFor   = 900 * time.Millisecond
	renewEvery = 150 * time.Millisecond
	// beatEvery is how often an agent reports how far it is. An agent that is silent for lostAfter is lost.
	beatEvery = 100 * time.Millisecond
	lostAfter = 750 * time.Millisecond
	// exchangeFor bounds an exchange with the Redis server.
	exchangeFor = 600 * time.Millisecond
	// ahead is how long before its begin a run is announced, stepAhead is that of a phase. Both are longer if
	// the Redis server is slow.
	ahead     = 500 * time.Millisecond
	stepAhead = 150 * time.Millisecond
	// lateLimit is how much later than the others an agent may begin a phase. Its requests are recorded late.
	lateLimit = 50 * time.Millisecond
	// clockLimit is how well an agent must know its clock to begin. worstClock is how well it must know its
	// clock at the end to be believed.
	clockLimit = 10 * time.Millisecond
	worstClock = 50 * time.Millisecond
	// beforeBegin is how long before the first request the time of a recording begins.
	beforeBegin = 2 * worstClock
	// keptFor is how long a Redis server keeps the data of a coordinator that was killed.
	keptFor = 10 * time.Minute
)

// Conn sends commands to the Redis server of a run, several in one exchange. An answer is an int64, a string,
// nil, a []any, a map, or the error that the server answered. The error of Exchange means that there was no
// exchange.
type Conn interface {
	Exchange(ctx context.Context, commands ...[]any) ([]any, error)
}

// exchange is an exchange that takes no longer than exchangeFor. The error of a command is also its error.
func exchange(ctx context.Context, c Conn, commands ...[]any) ([]any, error) {
	return exchangeWithin(ctx, exchangeFor, c, commands...)
}

// exchangeWithin is an exchange that takes no longer than d.
func exchangeWithin(ctx context.Context, d time.Duration, c Conn, commands ...[]any) ([]any, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	out, err := c.Exchange(ctx, commands...)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	for _, v := range out {
		if err, bad := v.(error); bad {
			return nil, fmt.Errorf("redis: %w", err)
		}
	}
	return out, nil
}

func key(run, what string) string { return Prefix + "{" + run + "}:" + what }

func keyOf(run, what string, round int) string { return key(run, what) + ":" + strconv.Itoa(round) }

// resultsKey returns the name of the stream with the pieces of a part.
func resultsKey(run string, round, part int) string {
	return keyOf(run, "results", round) + ":" + strconv.Itoa(part)
}

// group is the name of the group of consumers of the parts.
const group = "agents"

// shard is one part of a schedule, as it lies in the stream of shards.
type shard struct {
	Part    int    `json:"part"`
	Of      int    `json:"of"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// The kinds of reports.
const (
	saysReady  = "ready"
	saysMet    = "met"
	saysArmed  = "armed"
	saysDone   = "done"
	saysFailed = "failed"
)

// report is a message of an agent to the coordinator.
type report struct {
	Kind    string `json:"kind"`
	Part    int    `json:"part"`
	Agent   string `json:"agent"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Why says what keeps the agent from sending.
	Why string `json:"why,omitempty"`
	// Phase is the phase that a met or armed agent waits for.
	Phase int `json:"phase,omitempty"`
	// Clock is how well the agent knows its clock. RoundTrip is how long its shortest exchange took.
	Clock     time.Duration `json:"clock_ns,omitempty"`
	RoundTrip time.Duration `json:"round_trip_ns,omitempty"`
	Result    *result       `json:"result,omitempty"`
}

// The kinds of messages of the coordinator.
const (
	tellMeet  = "meet"
	tellBegin = "begin"
	tellStop  = "stop"
)

// control is a message of the coordinator to all agents.
type control struct {
	Kind  string `json:"kind"`
	Phase int    `json:"phase"`
	// At is when the phase begins, by the clock of the Redis server, since the Unix epoch.
	At  time.Duration `json:"at_ns,omitempty"`
	Why string        `json:"why,omitempty"`
}

// Beat says how far an agent is.
type Beat struct {
	// Count grows with every beat.
	Count int `json:"count"`
	// The numbers of requests so far, and the largest lateness.
	Allowed int           `json:"allowed"`
	Denied  int           `json:"denied"`
	Unknown int           `json:"unknown"`
	Sent    int           `json:"sent"`
	Late    time.Duration `json:"late_ns"`
	Phase   string        `json:"phase"`
	// Bringing: nothing is sent any more, and results come.
	Bringing bool `json:"bringing,omitempty"`
}

func add(stream string, message any) []any {
	text, err := json.Marshal(message)
	if err != nil {
		panic("fleet: " + err.Error()) // only numbers and texts
	}
	return []any{"xadd", stream, "*", "m", string(text)}
}

type entry struct {
	id     string
	fields map[string]string
}

// read decodes the message of an entry.
func (e entry) read(to any) error { return json.Unmarshal([]byte(e.fields["m"]), to) }

// entries reads the answer to XRANGE.
func entries(v any) []entry {
	list, _ := v.([]any)
	out := make([]entry, 0, len(list))
	for _, x := range list {
		pair, _ := x.([]any)
		if len(pair) != 2 {
			continue
		}
		e := entry{fields: map[string]string{}}
		e.id, _ = pair[0].(string)
		words, _ := pair[1].([]any)
		for i := 0; i+1 < len(words); i += 2 {
			name, _ := words[i].(string)
			e.fields[name], _ = words[i+1].(string)
		}
		out = append(out, e)
	}
	return out
}

// delivered reads the answer to XREADGROUP of one stream.
func delivered(v any) []entry {
	switch v := v.(type) {
	case map[any]any:
		for _, list := range v {
			return entries(list)
		}
	case []any:
		if len(v) == 1 {
			if pair, ok := v[0].([]any); ok && len(pair) == 2 {
				return entries(pair[1])
			}
		}
	}
	return nil
}

// pairs reads the answer to HGETALL.
func pairs(v any) map[string]string {
	out := map[string]string{}
	switch v := v.(type) {
	case map[any]any:
		for name, value := range v {
			out[fmt.Sprint(name)] = fmt.Sprint(value)
		}
	case []any:
		for i := 0; i+1 < len(v); i += 2 {
			out[fmt.Sprint(v[i])] = fmt.Sprint(v[i+1])
		}
	}
	return out
}

// after returns the beginning of a range after an entry. For an empty id it is the whole range.
func after(id string) string {
	if id == "" {
		return "-"
	}
	return "(" + id
}

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
