package load

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// phase is a prepared phase: its shots that are not over, and the observations that it made.
type phase struct {
	*tally
	r    *recorder
	plan *timeline.Phase
	// fixed are the shots of planned arrivals, obs their observations, in the order of the plan. Both are nil
	// in a phase without planned arrivals. They are also nil in a long open-loop phase, which makes each shot
	// when it is due.
	fixed []transport.Shot
	obs   []timeline.Observation
	// over counts the planned arrivals that have become observations.
	over atomic.Int64
	// loose are the shots that aimed a boundary.
	loose []*transport.Shot
	// clients are those of a closed, honoring or backoff phase, and ledger has their observations. cut counts
	// the clients that a halt kept from going on until the end of the phase.
	clients []client
	ledger  ledger
	cut     atomic.Int64
}

// runner runs a prepared phase from begin on and returns when it ended. It completes no request before begin.
type runner func(begin time.Duration) (end time.Duration)

// settle is the time in which a target takes in the withheld requests of a gate before the gate opens.
const settle = 20 * time.Millisecond

// lead is how long before the end of a silence the next phase is prepared.
const lead = 250 * time.Millisecond

// runAll runs the phases one after the other, on the sending goroutine.
func (r *recorder) runAll() {
	var begin time.Duration
	var ready runner
	for i := range r.s.Phases {
		p := &r.s.Phases[i]
		run := ready
		ready = nil
		if run == nil {
			if r.net.Halted() || !r.meet(i) {
				return
			}
			run = r.prepare(p, begin)
		} else if !r.meet(i) {
			return
		}
		r.name.Store(&p.Name)
		var ok bool
		if begin, ok = r.beginning(i, begin); !ok {
			return
		}
		if p.Shape != timeline.Silence {
			begin = run(begin)
			r.giveUp(r.phases[i])
			continue
		}
		begin += p.Duration
		if i+1 < len(r.s.Phases) && p.Duration > 0 && r.pause(begin-lead) {
			ready = r.prepare(&r.s.Phases[i+1], begin)
		}
		r.pause(begin)
	}
}

// giveUp ends the run if nothing was ever answered by the end of a phase, or all phases ask for one path that
// the target does not know, and no request is in flight any more.
func (r *recorder) giveUp(p *phase) {
	elsewhere := func(x timeline.Phase) bool {
		return x.Origin || x.Shape == timeline.Hook || !x.Request.IsZero()
	}
	switch {
	case p.left.Load() != 0 || r.net.Halted():
	case r.net.Silent():
		r.net.Halt("stopped: no request was answered by the end of phase " + p.plan.Name)
	case r.net.Astray() && !slices.ContainsFunc(r.s.Phases, elsewhere):
		r.net.Halt("stopped: the target did not know the path by the end of phase " + p.plan.Name)
	}
}

// prepare makes the shots of a phase, opens its connections, and arms its gate. begin is the earliest time at
// which the phase begins.
func (r *recorder) prepare(plan *timeline.Phase, begin time.Duration) runner {
	p := &phase{tally: newTally(), r: r, plan: plan}
	r.phases = append(r.phases, p)
	r.net.Fresh(plan.Request.Fresh)
	switch plan.Shape {
	case timeline.AtOnce:
		p.fix()
		return newGate(p).prepare(begin)
	case timeline.Constant, timeline.Ramp, timeline.Steps, timeline.Poisson:
		if !r.long {
			p.fix()
		}
		return p.prepareOpen()
	case timeline.Closed, timeline.HonorRetryAfter, timeline.Backoff:
		return newCrowd(p).run
	case timeline.Boundary:
		p.fix()
		return newAim(p).run
	case timeline.Hook:
		return p.happen
	default:
		return func(begin time.Duration) time.Duration { return begin } // runAll waits for its end
	}
}

// happen is the runner of a phase in which something happens to the target.
func (p *phase) happen(begin time.Duration) time.Duration {
	r := p.r
	if !r.pause(begin) {
		return r.clock.Now()
	}
	if err := r.o.Do(r.net.Sending(), p.plan.Event); err != nil && r.net.Sending().Err() == nil {
		r.net.Halt("stopped: " + p.plan.Name + ": " + transport.CausePlain(err))
	}
	return r.clock.Now()
}

// fix makes the shots of the planned arrivals.
func (p *phase) fix() {
	n := p.plan.Count()
	p.fixed, p.obs = make([]transport.Shot, n), make([]timeline.Observation, n)
	for i := range n {
		p.fill(i, &p.fixed[i], &p.obs[i])
	}
}

// fill makes the shot of one planned arrival.
func (p *phase) fill(i int, s *transport.Shot, o *timeline.Observation) {
	a := p.plan.Arrival(i)
	a.Phase, a.Cost, a.Origin = p.plan.Name, max(a.Cost, 1), a.Origin || p.plan.Origin
	o.Arrival = a
	s.Obs, s.Owner, s.Entry.Free = o, p, p.plan.Shape == timeline.Boundary
	s.Request = p.r.requests.Of(transport.Wish{Origin: a.Origin, Partition: a.Partition, Cost: a.Cost,
		Forge: p.plan.Forge, Own: &p.plan.Request, Turn: i})
	s.Pool = p.poolOf(&a)
}

func (p *phase) poolOf(a *timeline.Arrival) *transport.Pool {
	return p.r.net.Pool(a.Origin || p.plan.Origin, p.plan.Request.Key(a.Partition))
}

// shot returns the shot of planned arrival i, and makes it if phase.fixed is nil.
func (p *phase) shot(i int) *transport.Shot {
	if p.fixed != nil {
		return &p.fixed[i]
	}
	s := new(transport.Shot)
	p.fill(i, s, new(timeline.Observation))
	return s
}

// Ended and Dropped make a phase the driver of its planned arrivals.
func (p *phase) Ended(s *transport.Shot, c *transport.Conn) {
	p.over.Add(1)
	if !s.Gated() {
		p.r.late(s.Obs.Sent - s.Obs.At)
	}
	p.r.net.Release(c)
	p.done()
}

func (p *phase) Dropped(*transport.Shot) { p.done() }

// late keeps the largest lateness.
func (r *recorder) late(d time.Duration) {
	for {
		old := r.latest.Load()
		if int64(d) <= old || r.latest.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

// ahead is the expected service time of a request, from which the number of connections before a phase
// follows.
const ahead = 5 * time.Millisecond

func (p *phase) prepareOpen() runner {
	counts := p.counts()
	p.r.net.Lean(p.want(counts, ahead), true)
	if p.plan.Request.Fresh { // it is known now how long before its request each connection is to be opened
		p.r.net.Lean(p.want(counts, max(ahead, p.r.net.MeanOpening())), true)
	}
	return p.open
}

// counts returns how many requests of the plan each pool sends.
func (p *phase) counts() map[*transport.Pool]int {
	counts := map[*transport.Pool]int{}
	n := p.plan.Count()
	if turns := len(p.plan.Partitions); p.plan.Arrive != nil { // every partition has as many
		for i := range turns {
			a := p.plan.Arrive(i)
			counts[p.poolOf(&a)] += (n + turns - 1) / turns
		}
	}
	for i := range p.plan.Arrivals {
		counts[p.poolOf(&p.plan.Arrivals[i])]++
	}
	return counts
}

// want returns how many connections each pool needs, if each is in use for `each` of time.
func (p *phase) want(counts map[*transport.Pool]int, each time.Duration) map[*transport.Pool]int {
	want, span := map[*transport.Pool]int{}, int64(p.span())
	for pool, n := range counts {
		want[pool] = min(n, 2+int(int64(n)*int64(each)/span))
	}
	return want
}

// open is the runner of an open-loop phase. It sends the planned arrivals, each at its time.
func (p *phase) open(begin time.Duration) time.Duration {
	r := p.r
	p.add(1)
	pacer, done := p.pacer()
	due := begin // the time that the plan calls 0
	for i := range p.plan.Count() {
		s := p.shot(i)
		s.Obs.At += due
		if !pacer.Wait(r.net.Sending(), r.clock, s.Obs.At, nil) {
			break
		}
		if r.o.Next != nil {
			if !r.o.Next() {
				break
			}
			late := max(0, r.clock.Now()-s.Obs.At)
			s.Obs.At, due = s.Obs.At+late, due+late
		}
		p.add(1)
		r.net.Submit(s)
	}
	done()
	p.done()
	return p.finish(begin)
}

// frequent is the mean time between requests up to which the sender itself reads answers while it waits.
const frequent = 250 * time.Microsecond

// pacer returns how the sender waits between two requests, and what it calls after the last one.
func (p *phase) pacer() (_ transport.Pacer, done func()) {
	r, n := p.r, p.plan.Count()
	from := r.net.Reader()
	if from == nil || r.o.Next != nil || n == 0 || p.span()/time.Duration(n) > frequent {
		return r.o.Pacer, func() {}
	}
	return transport.ReadingPacer(r.o.Pacer, from)
}

// span is how long an open-loop phase lasts, at least a millisecond.
func (p *phase) span() time.Duration {
	span := max(p.plan.Duration, time.Millisecond)
	if n := p.plan.Count(); n > 0 {
		span = max(span, p.plan.Arrival(n-1).At)
	}
	return span
}

// finish waits for the end of a phase that began at begin: the end of its duration, or else its last answer.
// It returns that end. Requests that still wait for a connection at the end of the duration are not sent.
func (p *phase) finish(begin time.Duration) time.Duration {
	if p.plan.Duration == 0 {
		p.r.await(p)
		return p.r.clock.Now()
	}
	end := begin + p.plan.Duration
	p.r.pause(end)
	p.r.net.Purge(p)
	return max(end, p.r.clock.Now())
}

// tally counts the shots of one phase that are not over. quiet gets a value when none is left.
type tally struct {
	left  atomic.Int64
	quiet chan struct{}
}

func newTally() *tally { return &tally{quiet: make(chan struct{}, 1)} }

func (t *tally) add(n int) { t.left.Add(int64(n)) }

func (t *tally) done() {
	if t.left.Add(-1) == 0 {
		t.wake()
	}
}

// wake makes the goroutine that waits for quiet look again.
func (t *tally) wake() {
	select {
	case t.quiet <- struct{}{}:
	default:
	}
}
