package identify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Endpoint is an endpoint to ask, and what was recorded of it.
type Endpoint struct {
	// Load says where and how to send; its Classify is required.
	Load load.Options
	// Partition is the key of all requests; empty where they carry none.
	Partition string
	// DriftPPM is how far the clock of the target may drift from ours, in parts per million.
	DriftPPM int64
	// Polite waits as long as a denial asks for.
	Polite bool

	// caches counts the answers from caches, phases the recordings that were begun.
	caches  headers.Caches
	phases  int
	started time.Time
	header  timeline.Header
	free    time.Duration
	// mute: some denial did not say how long to wait.
	mute bool
	// trip is the least time from a request to its answer.
	trip time.Duration
	// jumped is transport.Clock.Jumped since the start, except in tests.
	jumped func() time.Duration
	// before counts the requests of finished rounds, last those of the present round.
	before, last load.Progress
}

// Now is the time since the start of the recording.
func (e *Endpoint) Now() time.Duration {
	if e.started.IsZero() {
		e.started = time.Now()
		if e.Load.Families == nil { // else each phase might become another client
			e.Load.Families = &transport.Families{}
		}
		if e.jumped == nil {
			e.jumped = transport.Clock{Start: e.started}.Jumped
		}
	}
	return time.Since(e.started)
}

// Wait is how long nothing must be sent from now on, because a denial asked for it.
func (e *Endpoint) Wait() time.Duration { return max(0, e.free-e.Now()) }

// Header is what is known about the clocks.
func (e *Endpoint) Header() timeline.Header { return e.header }

// Send sends a phase. It returns an error only where nothing can be sent at all.
func (e *Endpoint) Send(ctx context.Context, p Phase) ([]timeline.Observation, error) {
	if e.Now(); !e.silent(ctx, p.Rest) { // the first phase starts the recording
		return nil, nil
	}
	plan := &timeline.Schedule{Phases: []timeline.Phase{{Name: p.Name, Shape: timeline.Constant}}}
	for i := range p.Requests {
		plan.Phases[0].Arrivals = append(plan.Phases[0].Arrivals, timeline.Arrival{Seq: i,
			Partition: e.Partition,
			Phase:     p.Name, At: time.Duration(i) * p.Every, Cost: 1})
	}
	if e.Polite && !e.mute {
		p.Denials = 1
	}
	most := max(1, p.AtOnce)
	if p.AtOnce == 0 && p.Every > 0 { // as many as fit into the time of an answer
		most += int(e.trip / p.Every)
	}
	return e.record(ctx, plan, e.paced([]Phase{p}, most), p.Until)
}

// record sends a plan until a time since the start of the recording (0: all of it), and waits for the
// answers. Requests that are due later are not in the recording.
func (e *Endpoint) record(ctx context.Context, plan *timeline.Schedule, o load.Options,
	until time.Duration) ([]timeline.Observation, error) {
	if until > 0 {
		o.MaxDuration = max(1, until-e.Now())
	}
	if transport.AuditSlept(e.jumped) {
		return nil, errSlept
	}
	began := time.Now()
	tl, err := load.Record(ctx, plan, o)
	if err != nil {
		return nil, err
	}
	// the budget is reported elsewhere
	tl.Header.Notes = slices.DeleteFunc(tl.Header.Notes, transport.CauseAtCeiling)
	// The wall clock is read twice within a moment, so it hardly matters if somebody sets it.
	e.keep(tl, began.Sub(e.started)+tl.Header.Started.Sub(began.Round(0)))
	if slices.Contains(tl.Header.Notes, transport.CauseSlept) {
		return tl.Observations, errSlept
	}
	return tl.Observations, nil
}

// errSlept ends the search: the times of what follows are not known.
var errSlept = errors.New(transport.CauseSlept + " (ask again)")

// silent waits for rest, or for as long as a denial asked. It reports false where ctx ended first.
func (e *Endpoint) silent(ctx context.Context, rest time.Duration) bool {
	timer := time.NewTimer(max(rest, e.Wait()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// paced returns the options of some phases, of which most requests are under way at once. That is one if
// answers come before the next request, so a stall does not release several at once. A phase ends with its
// last denial, and after MostLost errors in a row. Progress counts all recordings together.
func (e *Endpoint) paced(phases []Phase, most int) load.Options {
	o, free := e.Load, make(chan struct{}, most)
	e.before, e.last = sum(e.last, e.before), load.Progress{}
	if o.Progress != nil {
		o.Progress = func(p load.Progress) {
			e.last = p
			e.Load.Progress(sum(p, e.before))
		}
	}
	if e.phases++; o.PastCaches != "" {
		o.PastCaches = fmt.Sprintf("%s-%d", o.PastCaches, e.phases)
	}
	answered := func() {
		select {
		case free <- struct{}{}:
		default:
		}
	}
	for range most {
		answered()
	}
	var mu sync.Mutex
	at, asked, admitted, denied, failed := 0, 0, 0, 0, 0
	o.Classify = func(status int) timeline.Outcome {
		out := e.Load.Classify(status)
		mu.Lock()
		defer mu.Unlock()
		switch out {
		case timeline.Denied:
			denied, failed = denied+1, 0
		case timeline.Allowed:
			admitted, failed = admitted+1, 0
		default:
			failed++
		}
		answered()
		return out
	}
	o.Next = func() bool {
		lost := 0
		select {
		case <-free:
		case <-time.After(lostAfter):
			lost = 1
		}
		mu.Lock()
		defer mu.Unlock()
		if asked == phases[at].Requests { // all of the phase were sent and answered
			at, asked, admitted, denied, failed = at+1, 0, 0, 0, 0
		}
		asked, failed = asked+1, failed+lost
		if !phases[at].Over(admitted, denied) && failed < MostLost {
			return true
		}
		at, asked, admitted, denied, failed = at+1, 0, 0, 0, 0
		answered()
		return false
	}
	return o
}

// sum adds the counts of b to those of a.
func sum(a, b load.Progress) load.Progress {
	a.Sent += b.Sent
	a.Allowed += b.Allowed
	a.Denied += b.Denied
	a.Unknown += b.Unknown
	return a
}

// lostAfter is how long the next request waits for a missing answer.
const lostAfter = time.Second

// keep adds a recording that began at from to the whole recording.
func (e *Endpoint) keep(tl *timeline.Timeline, from time.Duration) {
	for i := range tl.Observations {
		o := &tl.Observations[i]
		result.DoubtCached(o, e.caches.Gave)
		o.At, o.Sent = o.At+from, o.Sent+from
		if o.Answered {
			o.FirstByte += from
			if took := o.FirstByte - o.Sent; e.trip == 0 || took < e.trip {
				e.trip = took
			}
		}
		if o.Done > 0 {
			o.Done += from
		}
		if wait, ok := ToldWait(o, e.started); e.Polite && ok {
			e.free = max(e.free, o.FirstByte+wait)
		} else if o.Outcome == timeline.Denied {
			e.mute = true
		}
	}
	notes := append(e.header.Notes, tl.Header.Notes...)
	stalls := e.header.Stalls
	for _, s := range tl.Header.Stalls {
		stalls = append(stalls, timeline.Stall{From: s.From + from, To: s.To + from})
	}
	e.header = timeline.Header{Started: e.started.Round(0), WallError: tl.Header.WallError,
		Tick:     max(tl.Header.Tick, clockStep),
		DriftPPM: e.DriftPPM, Ended: tl.Header.Ended + from,
		Notes: result.NoteCaches(notes, e.caches.Text()), Stalls: stalls}
}

// clockStep is the step that the clock of a limiter may have although nobody stated one. Many count in
// milliseconds, HAProxy in steps of two.
const clockStep = 2 * time.Millisecond

// wireName is the key or address that the other client sends, where the plain client sends plain. Requests
// with the same wire name share connections.
func wireName(w *Way, p load.Partition, plain string) string {
	switch {
	case w.Address != "":
		return w.Address
	case w.Key:
		return w.Side(plain)
	case w.Moves && p.Kind == "address":
		return "::ffff:" + plain // the same address, but another connection
	case w.Moves:
		return plain + "-2"
	}
	return plain
}

// plainSource is the source address of the plain client where addresses tell clients apart.
const plainSource = "127.71.0.8"

// Turns sends a round as one recording, so consecutive turns with one wire name share connections.
func (e *Endpoint) Turns(ctx context.Context, rest, until time.Duration,
	turns []Phase) ([]timeline.Observation, error) {
	if e.Now(); !e.silent(ctx, rest) { // the first phase starts the recording
		return nil, nil
	}
	o, plan, n := e.paced(turns, 1), &timeline.Schedule{}, 0
	plain := e.plain(turns, &o)
	o.Keys = maps.Clone(o.Keys)
	if o.Keys == nil {
		o.Keys = map[string]string{}
	}
	for _, a := range turns {
		p, client := timeline.Phase{Name: a.Name, Shape: timeline.Constant}, e.Partition
		wire := plain
		if a.Way != nil {
			p.Request, client = a.Way.Request, a.Way.Side(e.Partition)
			wire = wireName(a.Way, o.Partition, plain)
			if a.Way.ID == Connection { // another connection with the same key
				o.Keys[wire] = cmp.Or(e.Load.Keys[plain], plain)
			}
		}
		p.Request.Keys = map[string]string{client: wire}
		for i := range a.Requests {
			p.Arrivals = append(p.Arrivals, timeline.Arrival{Seq: n, Partition: client, Phase: a.Name,
				At: time.Duration(i+1) * a.Every, Cost: 1})
			n++
		}
		plan.Phases = append(plan.Phases, p)
	}
	return e.record(ctx, plan, o, until)
}

// plain returns the wire name of the plain client: an address if some turn has another address.
func (e *Endpoint) plain(turns []Phase, o *load.Options) string {
	if o.Partition.Kind == "address" {
		return plainSource
	}
	for _, a := range turns {
		if a.Way != nil && a.Way.Address != "" {
			o.Partition = load.Partition{Kind: "address"}
			return "127.0.0.1"
		}
	}
	return e.Partition
}
