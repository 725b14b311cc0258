package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Work is the part of an order that an agent is asked to do.
type Work struct {
	// Order is what the coordinator ordered. The agent and the coordinator must understand it alike.
	Order []byte
	// Part counts from 0. Of is the number of parts.
	Part, Of int
	// Turns keeps the agents together while the part is sent.
	Turns *Turns
}

// Sender understands an order. Prepare returns the schedule of all agents, the digest of everything that
// decides what is sent, and the function that sends a part. An error of either keeps the run from beginning.
type Sender interface {
	Prepare(ctx context.Context, w Work) (s *timeline.Schedule, digest string, send func(context.Context) (
		*timeline.Timeline, error), err error)
}

// AgentOptions are the options of an agent.
type AgentOptions struct {
	// Name is the name of the agent. Version must be that of the coordinator.
	Name, Version string
	Sender        Sender
	// Keep keeps a part of a run that the coordinator did not take; nil: such a part is lost.
	Keep func(w Work, tl *timeline.Timeline) error
	// Say gets messages on what the agent does; nil: nobody does.
	Say func(format string, args ...any)
	// Now is a clock that never goes back; nil: the monotonic clock.
	Now func() time.Duration
	// At returns what Now is at an instant. It is nil if Now is.
	At func(time.Time) time.Duration
}

// ErrNoCoordinator is the error of Serve if the coordinator of its run is gone.
var ErrNoCoordinator = errors.New("the coordinator is gone, and nothing is sent without it")

// agent sends parts of the recordings of one run.
type agent struct {
	AgentOptions
	conn Conn
	run  string
	// round is the last recording of which the agent took a part.
	round int
}

// Serve waits for a run, takes a part in each of its recordings, and returns when the run is over: nil, or
// ErrNoCoordinator if it ended in another way. Without a run it waits until ctx ends. A Redis server that
// does not answer is an error only if the agent has a run.
func Serve(ctx context.Context, conn Conn, o AgentOptions) error {
	if o.Now == nil {
		base := time.Now()
		o.Now = func() time.Duration { return time.Since(base) }
		o.At = func(t time.Time) time.Duration { return t.Sub(base) }
	}
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	a := &agent{AgentOptions: o, conn: conn}
	gone := time.Duration(-1) // since when the coordinator, or before a run the Redis, is silent
	for pause(ctx, beatEvery) {
		w, state, err := a.look(ctx)
		switch {
		case w != nil:
			a.take(ctx, w)
			gone = -1
		case a.run == "" && err == nil:
			gone = -1
		case a.run == "" && gone >= 0:
			if a.Now()-gone > patience {
				a.Say("it waits for a run, but cannot ask for one: %v", err)
				gone = math.MaxInt64 // only once
			}
		case err == nil && state == runOver:
			return nil
		case err == nil && state == runAlive:
			gone = -1
		case gone < 0:
			gone = a.Now()
		case a.Now()-gone > 2*leaseFor:
			return ErrNoCoordinator
		}
	}
	if a.run == "" || ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}

// state is the known state of a run.
type state int

const (
	runGone state = iota
	runAlive
	runOver
)

// look returns work for this agent, or nil, and the state of its run.
func (a *agent) look(ctx context.Context) (*job, state, error) {
	if a.run != "" {
		return a.lookAt(ctx, a.run)
	}
	const newest = 10
	out, err := exchange(ctx, a.conn, []any{"xrevrange", runsKey, "+", "-", "count", newest})
	if err != nil {
		return nil, runGone, err
	}
	for _, e := range entries(out[0]) {
		if j, _, err := a.lookAt(ctx, e.fields["run"]); j != nil || err != nil {
			return j, runAlive, err
		}
	}
	return nil, runGone, nil
}

// job is a part that an agent has taken.
type job struct {
	shard
	run   string
	round int
	order string
}

// lookAt takes a part of the recording that a run wants, one that nobody has.
func (a *agent) lookAt(ctx context.Context, run string) (*job, state, error) {
	out, err := exchange(ctx, a.conn, []any{"exists", key(run, "over")}, []any{"exists", key(run, "lease")},
		[]any{"get", key(run, "round")})
	switch {
	case err != nil:
		return nil, runGone, err
	case out[0] == int64(1):
		return nil, runOver, nil
	case out[1] != int64(1):
		return nil, runGone, nil
	}
	round := 0
	if text, ok := out[2].(string); !ok {
		return nil, runAlive, nil
	} else if _, err := fmt.Sscan(text, &round); err != nil || run == a.run && round <= a.round {
		return nil, runAlive, err
	}
	shards := keyOf(run, "shards", round)
	take := []any{"xreadgroup", "group", group, a.Name, "count", 1, "streams", shards, ">"}
	answer, err := a.conn.Exchange(ctx, take, []any{"get", keyOf(run, "order", round)})
	if err != nil {
		return nil, runAlive, err
	}
	got := delivered(answer[0])
	order, ok := answer[1].(string)
	if !ok || len(got) != 1 {
		return nil, runAlive, nil
	}
	j := &job{run: run, round: round, order: order}
	return j, runAlive, got[0].read(&j.shard)
}

// take does a job and reports its result.
func (a *agent) take(ctx context.Context, j *job) {
	if a.run == "" {
		a.Say("part %d of %d of run %s", j.Part+1, j.Of, j.run)
	}
	a.run, a.round = j.run, j.round
	t := &Turns{a: a, job: j, clock: Clock{now: a.Now}}
	if err := t.do(ctx); err != nil {
		a.Say("part %d of %d: %v", j.Part+1, j.Of, err)
		t.report(context.WithoutCancel(ctx), report{Kind: saysFailed, Why: err.Error()})
	}
}

// report sends a report to the coordinator. It retries for a while, as an end that the coordinator does not
// hear of costs the whole run.
func (t *Turns) report(ctx context.Context, r report) bool {
	r.Part, r.Agent, r.Version = t.job.Part, t.a.Name, t.a.Version
	stream := keyOf(t.job.run, "reports", t.job.round)
	for n := range 5 {
		if n > 0 && !pause(ctx, beatEvery) {
			return false
		}
		if _, err := exchange(ctx, t.a.conn, add(stream, r)); err == nil {
			return true
		}
	}
	return false
}

// do prepares, sends and delivers a part.
func (t *Turns) do(ctx context.Context) error {
	if t.job.Version != t.a.Version {
		return fmt.Errorf("it has version %s, and the coordinator has version %s", t.a.Version, t.job.Version)
	}
	if j := &t.job.shard; j.Part < 0 || j.Part >= j.Of || j.Of > mostAgents {
		return fmt.Errorf("part %d of %d: there is no such part", j.Part+1, j.Of)
	}
	w := Work{Order: []byte(t.job.order), Part: t.job.Part, Of: t.job.Of, Turns: t}
	s, digest, send, err := t.a.Sender.Prepare(ctx, w)
	if err != nil {
		return err
	}
	if digest != t.job.Digest {
		return errors.New("it would send something else than the coordinator wants: a variable, a key or a " +
			"flag differs")
	}
	t.schedule, t.meets, t.begins = s, meets(s), make([]time.Duration, len(s.Phases))
	if t.clock.before, err = t.clock.measure(ctx, t.a.conn, t.job.run, probesFor); err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	beating, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer rest()
	t.stop, t.beating = stop, make(chan struct{})
	if err := t.patiently(working, func() error { return t.beat(working) }); err != nil {
		return err
	}
	go t.keepBeating(beating)
	tl, err := send(working)
	if err == nil {
		defer tl.Close()
		if err = t.deliver(ctx, tl); err != nil && t.a.Keep != nil && tl.Sent() > 0 {
			err = errors.Join(err, t.a.Keep(w, tl))
		}
	}
	rest()
	<-t.beating
	return err
}

// deliver measures the clock again, and brings the recording to the coordinator.
func (t *Turns) deliver(ctx context.Context, tl *timeline.Timeline) (err error) {
	t.over.Store(true)
	t.mu.Lock()
	t.count.Bringing = true
	t.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	if t.start.IsZero() {
		return errors.New(t.whyNot("it never began"))
	}
	if t.clock.after, err = t.clock.measure(ctx, t.a.conn, t.job.run, probesFor); err != nil {
		return err
	}
	t.mu.Lock()
	offset, drift := t.clock.Offset(), t.clock.Drift()
	t.mu.Unlock()
	r := &result{Counts: tl.Counts(), Clock: offset.Error(), Drift: drift,
		Shift: t.a.At(t.start) + offset.Middle(), Firsts: map[string]time.Duration{}}
	if tl.Header.Interrupted && !t.stopped.Load() {
		if r.Why = "it was told to end"; t.lapsed.Load() {
			r.Why = "it heard nothing from the coordinator for too long"
		}
	}
	first := true
	for o := range tl.All() {
		if first {
			r.Earliest, first = o.Sent, false
		}
		if _, ok := r.Firsts[o.Phase]; !ok && o.Answered {
			r.Firsts[o.Phase] = o.Sent
		}
	}
	if t.late != "" {
		return errors.New(t.late)
	}
	if r.Clock > worstClock {
		return fmt.Errorf("its clock is known only to %s, at most %s is usable", r.Clock, worstClock)
	}
	if err := deliver(ctx, t.a.conn, resultsKey(t.job.run, t.job.round, t.job.Part), tl, r); err != nil {
		return err
	}
	if !t.report(ctx, report{Kind: saysDone, Result: r}) {
		return errors.New("the coordinator cannot be told that the results are ready")
	}
	return t.taken(ctx)
}

// taken waits until the coordinator has taken all pieces of the part. The error says that it will not.
func (t *Turns) taken(ctx context.Context) error {
	for until := t.a.Now() + fullFor; ; pause(ctx, againAfter) {
		out, err := exchange(ctx, t.a.conn, []any{"xlen", resultsKey(t.job.run, t.job.round, t.job.Part)},
			[]any{"exists", key(t.job.run, "lease")})
		switch {
		case err == nil && out[0] == int64(0):
			return nil
		case err == nil && out[1] != int64(1):
			return ErrNoCoordinator
		case t.a.Now() > until:
			return errors.Join(errors.New("the coordinator did not take the results"), err)
		}
	}
}
