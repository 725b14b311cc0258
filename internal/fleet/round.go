package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	// lookEvery is how often the coordinator reads reports, mostNews how many it reads at once.
	lookEvery = 20 * time.Millisecond
	mostNews  = 1000
	// gatherFor is how long no result may come from any agent. hurryFor is how long it waits for the results
	// of agents that had to stop.
	gatherFor = 30 * time.Second
	hurryFor  = 10 * time.Second
	// patience is how long a Redis server may be silent before anything is sent.
	patience = 3 * time.Second
	// fewKeys is how many streams of results are read in one exchange.
	fewKeys = 16
)

type round struct {
	c     *Coordinator
	r     Recording
	n     int
	g     *Gathered
	meets []bool
	// last is the last report that was read.
	last string
	// begun: the begin of the first phase was announced. slowest is the longest exchange of an agent.
	begun   bool
	slowest time.Duration
	// met and armed are the last phases that all agents have met, and are armed for.
	met, armed int
	// stopped is when all were told to stop. told is when progress was last reported.
	stopped, told time.Duration
	// looked is when the beats were last read.
	looked time.Duration
}

// run runs a recording to its end.
func (x *round) run(ctx context.Context) (err error) {
	if x.c.clock.before, err = x.c.clock.measure(ctx, x.c.conn, x.c.Run, probesFor); err != nil {
		return &Unready{err.Error()}
	}
	if err := x.give(ctx); err != nil {
		return &Unready{err.Error()}
	}
	if err := x.gatherAgents(ctx); err != nil {
		_ = x.tell(context.WithoutCancel(ctx), control{Kind: tellStop, Why: err.Error()})
		return err
	}
	return x.lead(ctx)
}

// gatherAgents waits until all agents are ready, and sets the begin. Its error is an *Unready.
func (x *round) gatherAgents(ctx context.Context) error {
	until, heard := x.c.now()+x.c.Within, x.c.now()
	for !x.begun {
		now := x.c.now()
		if ctx.Err() != nil {
			return &Unready{"interrupted before all agents were ready"}
		}
		if now > until {
			return &Unready{x.absent()}
		}
		err := x.news(ctx)
		if err == nil && x.ready() {
			err = x.open(ctx)
		}
		var unready *Unready
		switch {
		case err == nil:
			heard = now
		case errors.As(err, &unready):
			return err
		case now-heard > patience:
			return &Unready{err.Error()}
		}
		if !x.begun {
			pause(ctx, lookEvery)
		}
	}
	return nil
}

// lead leads the agents through the phases and gathers their recordings.
func (x *round) lead(ctx context.Context) error {
	all := context.WithoutCancel(ctx)
	heard := x.c.now()
	for !x.ended() {
		now := x.c.now()
		err := x.news(all)
		if err == nil {
			heard = now
			err = x.follow(ctx)
		}
		var lost *lostError
		switch {
		case errors.As(err, &lost):
			x.halt(all, lost.Error())
		case now-heard > leaseFor:
			silent := (now - heard).Round(time.Millisecond)
			x.lose(fmt.Sprintf("the Redis did not answer for %s: %v; it keeps its part in a file, and says "+
				"where", silent, err))
			return nil
		case x.c.lapsed() && x.stopped == 0:
			x.g.early = "this machine could not renew its lease in time"
			x.halt(all, x.g.early)
		case ctx.Err() != nil && x.stopped == 0:
			x.g.interrupted = true
			x.halt(all, "the run was interrupted")
		case x.stopped > 0 && now-x.stopped > hurryFor:
			x.lose("it delivered no results after it was told to stop")
			return nil
		}
		pause(all, lookEvery)
	}
	return nil
}

// lostError is an error that makes all agents stop.
type lostError struct{ why string }

func (e *lostError) Error() string { return e.why }

// halt tells all agents to stop sending, once.
func (x *round) halt(ctx context.Context, why string) {
	if x.stopped > 0 {
		return
	}
	x.stopped = x.c.now()
	_ = x.tell(ctx, control{Kind: tellStop, Why: why}) // otherwise their lease ends
}

// lose gives up all agents whose results have not come.
func (x *round) lose(why string) {
	for i := range x.g.parts {
		if p := &x.g.parts[i]; !p.complete() && p.lost == "" {
			p.lost = why
		}
	}
}

// ended tells whether nothing more will come.
func (x *round) ended() bool {
	for i := range x.g.parts {
		if p := &x.g.parts[i]; p.lost == "" && !p.complete() {
			return false
		}
	}
	return true
}

// news reads the reports of agents, and how far they are.
func (x *round) news(ctx context.Context) error {
	run := x.c.Run
	reports := keyOf(run, "reports", x.n)
	commands := [][]any{{"xrange", reports, after(x.last), "+", "count", mostNews}}
	now := x.c.now()
	if now-x.looked >= beatEvery/2 {
		commands = append(commands, []any{"hgetall", keyOf(run, "beats", x.n)})
	}
	out, err := exchange(ctx, x.c.conn, commands...)
	if err != nil {
		return err
	}
	for _, e := range entries(out[0]) {
		x.last = e.id
		var r report
		if err := e.read(&r); err != nil || r.Part < 0 || r.Part >= len(x.g.parts) {
			continue // no agent of this version wrote it
		}
		if err := x.heard(r); err != nil {
			return err
		}
	}
	if len(entries(out[0])) > 0 {
		if _, err := exchange(ctx, x.c.conn, []any{"xtrim", reports, "minid", x.last}); err != nil {
			return err
		}
	}
	if len(out) > 1 {
		x.looked = now
		x.beats(out[1])
	}
	return nil
}

func unready(format string, args ...any) error { return &Unready{fmt.Sprintf(format, args...)} }

// heard handles a report. Its error ends a recording that has not begun.
func (x *round) heard(r report) error {
	p := &x.g.parts[r.Part]
	switch r.Kind {
	case saysReady:
		return x.heardReady(p, r)
	case saysMet:
		p.met = r.Phase
	case saysArmed:
		p.armed = r.Phase
	case saysDone:
		p.result = r.Result
	case saysFailed:
		if !x.begun {
			return unready("agent %s: %s", r.Agent, r.Why)
		}
		if p.lost == "" {
			p.lost = r.Why
		}
	}
	return nil
}

// heardReady handles the report that an agent is ready.
func (x *round) heardReady(p *part, r report) error {
	switch {
	case x.begun || p.ready != nil:
		return nil
	case r.Version != x.c.Version:
		return unready("agent %s: it has version %s, and the coordinator has version %s", r.Agent, r.Version,
			x.c.Version)
	case r.Digest != x.r.Digest:
		return unready("agent %s: it would send something else than the coordinator wants", r.Agent)
	case r.Clock > clockLimit:
		return unready("agent %s: its clock is known only to %s, at most %s is usable: its shortest "+
			"round trip to the Redis takes %s", r.Agent, r.Clock, clockLimit, r.RoundTrip)
	}
	p.agent, p.ready = r.Agent, &r
	x.slowest = max(x.slowest, r.RoundTrip)
	n := 0
	for i := range x.g.parts {
		if x.g.parts[i].ready != nil {
			n++
		}
	}
	if x.n == 1 {
		x.c.Say("agent %s is ready, %d of %d", r.Agent, n, len(x.g.parts))
	}
	return nil
}

func (x *round) ready() bool {
	for i := range x.g.parts {
		if x.g.parts[i].ready == nil {
			return false
		}
	}
	return true
}

// absent says which parts nobody made ready.
func (x *round) absent() string {
	n, who := 0, []string{}
	for i := range x.g.parts {
		if p := &x.g.parts[i]; p.ready != nil {
			n++
			who = append(who, p.agent)
		}
	}
	if n == 0 {
		return fmt.Sprintf("no agent came within %s (start %s: rlcheck agent --redis URL)", x.c.Within,
			text.Plural(len(x.g.parts), "agent"))
	}
	return fmt.Sprintf("%d of %s came within %s: %s (start %d more, or ask for fewer with --agents)", n,
		text.Plural(len(x.g.parts), "agent"), x.c.Within, strings.Join(who[:min(len(who), 5)], ", "),
		len(x.g.parts)-n)
}

// open does what happens to the target first, and then begins.
func (x *round) open(ctx context.Context) error {
	if p := &x.r.Schedule.Phases[0]; p.Shape == timeline.Hook && x.r.Do != nil {
		if err := x.do(ctx, p); err != nil {
			return unready("%s: %v", p.Name, err)
		}
	}
	if err := x.begin(ctx); err != nil { // agents may have heard of it nevertheless
		return unready("the start could not be announced: %v", err)
	}
	return nil
}

// begin sets when the first phase begins.
func (x *round) begin(ctx context.Context) error {
	at := x.soon(ahead)
	if err := x.tell(ctx, control{Kind: tellBegin, At: at}); err != nil {
		return err
	}
	x.begun = true
	offset := x.c.clock.before
	x.g.zero = at - beforeBegin
	x.g.started = x.c.base.Add(x.g.zero - offset.Middle()).Round(0)
	x.g.wall = offset.Error()
	for i := range x.g.parts {
		x.g.parts[i].seen = x.c.now()
	}
	return nil
}

// follow does what the reports ask for, and looks for lost agents. An error that makes all agents stop is a
// *lostError.
func (x *round) follow(ctx context.Context) error {
	if err := x.steps(ctx); err != nil {
		return err
	}
	err := x.collect(context.WithoutCancel(ctx))
	for i := range x.g.parts {
		p := &x.g.parts[i]
		silent := x.looked - p.seen // a silent Redis says nothing of agents
		switch {
		case p.lost != "":
		case p.result == nil && silent > lostAfter:
			p.lost = fmt.Sprintf("it gave no sign of life for %s", silent.Round(time.Millisecond))
		case p.result != nil && !p.complete() && silent > gatherFor:
			p.lost = "its results did not come"
		}
		if x.stopped > 0 {
			continue
		}
		switch {
		case p.lost != "":
			err = &lostError{"agent " + p.agent + " is lost"}
		case p.result != nil && p.result.Why != "":
			x.g.early = fmt.Sprintf("agent %s: %s", p.agent, p.result.Why)
			err = &lostError{x.g.early}
		case p.result != nil && p.armed < x.lastMeeting():
			x.g.early = fmt.Sprintf("agent %s: it ended before the others", p.agent)
			err = &lostError{x.g.early}
		}
	}
	return err
}

// lastMeeting returns the last phase whose begin is agreed on.
func (x *round) lastMeeting() (last int) {
	for i, meet := range x.meets {
		if meet {
			last = i
		}
	}
	return last
}

// steps announces the next phase if all agents wait for it.
func (x *round) steps(ctx context.Context) error {
	met, armed := x.leastOf()
	if met > x.met {
		x.met = met
		if p := &x.r.Schedule.Phases[met]; p.Shape == timeline.Hook && x.r.Do != nil {
			if err := x.do(ctx, p); err != nil {
				return &lostError{p.Name + ": " + err.Error()}
			}
		}
		if err := x.tell(ctx, control{Kind: tellMeet, Phase: met}); err != nil {
			return err
		}
	}
	if armed > x.armed {
		x.armed = armed
		return x.tell(ctx, control{Kind: tellBegin, Phase: armed, At: x.soon(stepAhead)})
	}
	return nil
}

// do does what happens in a Hook phase. Agents send signs of life meanwhile, but nobody reads them.
func (x *round) do(ctx context.Context, p *timeline.Phase) error {
	err := x.r.Do(ctx, p.Event)
	for i := range x.g.parts {
		x.g.parts[i].seen = x.c.now()
	}
	return err
}

// leastOf returns the last phases that all agents have met, and are armed for.
func (x *round) leastOf() (met, armed int) {
	met, armed = len(x.meets), len(x.meets)
	for i := range x.g.parts {
		met, armed = min(met, x.g.parts[i].met), min(armed, x.g.parts[i].armed)
	}
	return met, armed
}

// beats reads how far the agents are.
func (x *round) beats(v any) {
	now := x.c.now()
	sum := Beat{}
	for name, text := range pairs(v) {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(x.g.parts) {
			continue
		}
		p := &x.g.parts[i]
		b := p.beat
		if json.Unmarshal([]byte(text), &b) == nil && b.Count != p.beat.Count {
			p.beat, p.seen = b, now
		}
		sum.Allowed, sum.Denied = sum.Allowed+p.beat.Allowed, sum.Denied+p.beat.Denied
		sum.Unknown, sum.Sent = sum.Unknown+p.beat.Unknown, sum.Sent+p.beat.Sent
		sum.Late, sum.Phase = max(sum.Late, p.beat.Late), p.beat.Phase
	}
	if x.r.Progress != nil && x.begun && now-x.told >= beatEvery {
		x.told = now
		x.r.Progress(sum)
	}
}

// collect takes the pieces of results out of the Redis server.
func (x *round) collect(ctx context.Context) error {
	var which []int
	for i := range x.g.parts {
		// An agent has nothing to bring before its end.
		if p := &x.g.parts[i]; p.lost == "" && !p.complete() && (p.beat.Bringing || p.result != nil) {
			which = append(which, i)
		}
	}
	for len(which) > 0 {
		few := which[:min(len(which), fewKeys)]
		which = which[len(few):]
		if err := x.collectFrom(ctx, few); err != nil {
			return err
		}
	}
	return nil
}

func (x *round) collectFrom(ctx context.Context, which []int) error {
	var commands [][]any
	for _, i := range which {
		stream := resultsKey(x.c.Run, x.n, i)
		last := x.g.parts[i].last
		commands = append(commands, []any{"xrange", stream, after(last), "+", "count", mostPieces})
	}
	out, err := exchange(ctx, x.c.conn, commands...)
	if err != nil {
		return err
	}
	var taken [][]any
	for k, i := range which {
		p := &x.g.parts[i]
		for _, e := range entries(out[k]) {
			if err := p.take(e, x.g.shelf); err != nil {
				p.lost = err.Error()
				break
			}
			p.seen = x.c.now()
			taken = append(taken, []any{"xdel", resultsKey(x.c.Run, x.n, i), e.id})
		}
	}
	if len(taken) == 0 {
		return nil
	}
	_, err = exchange(ctx, x.c.conn, taken...)
	return err
}
