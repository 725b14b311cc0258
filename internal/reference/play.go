package reference

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// SimulationRule is how the requests of a phase are counted.
type SimulationRule struct {
	// Limit counts them, unless the phase is Exempt (all are admitted) or Barred (all are denied).
	Limit          spec.Limit
	Exempt, Barred bool
}

// SimulationOptions are what a simulation needs beside its schedule.
type SimulationOptions struct {
	// Rule returns how the requests of a phase are counted. phase is the name in their arrivals.
	Rule func(phase string) SimulationRule
	// Started is the wall time of zero, also on the clock of the limiter.
	Started time.Time
	// Answer is how long an answer takes. It is above 0, since clients that wait for answers would otherwise
	// never let time pass.
	Answer time.Duration
}

// Play returns the recording that a right limiter would give a schedule. Requests arrive when they are due,
// and are decided then. An answer comes Options.Answer later, after the wait in a queue. Commands of hook
// phases do nothing. It returns the errors of NewLimiter.
func Play(s *timeline.Schedule, o SimulationOptions) (*timeline.Timeline, error) {
	p := &player{o: o, limiters: map[string]*Simulation{},
		tl: &timeline.Timeline{Header: timeline.Header{Started: o.Started,
			Notes: []string{"simulated: nothing was sent; each answer takes " + o.Answer.String()}}}}
	for i := range s.Phases {
		if p.err == nil {
			p.phase(&s.Phases[i])
		}
	}
	slices.SortStableFunc(p.tl.Observations, timeline.BySent)
	for i := range p.tl.Observations {
		p.tl.Observations[i].Seq = i
	}
	p.tl.Header.Ended = p.now
	return p.tl, p.err
}

// player plays one schedule.
type player struct {
	o        SimulationOptions
	limiters map[string]*Simulation
	tl       *timeline.Timeline
	// now is when the current phase begins.
	now time.Duration
	err error
}

func (p *player) phase(ph *timeline.Phase) {
	begin, end := p.now, p.now
	switch {
	case ph.Shape.Quiet():
	case ph.Clients > 0:
		end = p.clients(ph)
	default:
		from := begin
		if ph.Shape == timeline.Boundary {
			from = p.boundary(ph)
		}
		var arrivals []timeline.Arrival
		for _, a := range ph.All() {
			arrivals = append(arrivals, a)
		}
		slices.SortStableFunc(arrivals, func(a, b timeline.Arrival) int { return int(a.At - b.At) })
		for _, a := range arrivals {
			a.At += from
			o, _ := p.send(a)
			end = max(end, o.FirstByte)
		}
	}
	if p.now = end; ph.Duration > 0 {
		p.now = max(begin+ph.Duration, begin)
	}
}

// send decides one request, which is sent when it is due. An origin behind a proxy decides as the proxy's
// target does.
func (p *player) send(a timeline.Arrival) (timeline.Observation, Decision) {
	a.Cost = max(a.Cost, 1)
	d := Decision{Allow: true}
	switch rule := p.o.Rule(a.Phase); {
	case rule.Exempt:
	case rule.Barred:
		d = Decision{RetryAfter: Never}
	default:
		if l := p.limiter(rule.Limit); l != nil {
			d = l.Decide(a.Partition, a.At, a.Cost)
		}
	}
	o := timeline.Observation{Arrival: a, Sent: a.At, FirstByte: a.At + d.Delay + p.o.Answer,
		Answered: true, Status: p.o.Rule(a.Phase).Limit.Admission(), Outcome: timeline.Allowed}
	if !d.Allow {
		o.Outcome, o.Status = timeline.Denied, 429
		if wait := told(d); wait > 0 {
			o.Fields = timeline.Fields{{Name: "Retry-After",
				Value: strconv.FormatInt(int64(wait/time.Second), 10)}}
		}
	}
	o.Done = o.FirstByte
	p.tl.Observations = append(p.tl.Observations, o)
	return o, d
}

// limiter returns the limiter of a limit, and makes it on first use.
func (p *player) limiter(l spec.Limit) *Simulation {
	text := l.String()
	if p.limiters[text] == nil && p.err == nil {
		p.limiters[text], p.err = NewSimulation(l, p.o.Started, p.o.Answer)
	}
	return p.limiters[text]
}

// told returns the wait of a denial in whole seconds, as Retry-After states it; 0 if it states none.
func told(d Decision) time.Duration {
	if d.Allow || d.RetryAfter == Never {
		return 0
	}
	return (d.RetryAfter + time.Second - 1) / time.Second * time.Second
}

// boundary returns where a boundary phase has its boundary, as its aim finds it. That is one window after a
// request that opens one, where the limiter says that a window ends, or the next multiple on the clock.
func (p *player) boundary(ph *timeline.Phase) time.Duration {
	before := time.Duration(0)
	for _, a := range ph.Arrivals {
		before = max(before, -a.At)
	}
	at := p.now + ph.Window - (time.Duration(p.o.Started.UnixNano())+p.now)%ph.Window
	if ph.Aim != timeline.AimClock && len(ph.Arrivals) > 0 {
		first := ph.Arrivals[0]
		o, d := p.send(timeline.Arrival{Partition: first.Partition, Phase: timeline.AimPhase(ph.Name),
			At: p.now})
		switch at = o.Sent + ph.Window; {
		case ph.Aim != timeline.AimFirst && d.Allow && d.Reset > 0 && d.Reset <= ph.Window:
			at = o.Sent + d.Reset
		}
	}
	for at-before <= p.now {
		at += ph.Window
	}
	return at
}

// client is a client of a closed, honoring or backoff phase.
type client struct {
	partition string
	due       time.Duration
	number    int
	failures  int
}

// sooner orders clients by when they send next, then by number.
func sooner(a, b *client) int {
	return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.number, b.number))
}

// clients plays a phase whose clients react to the target, and returns when its last answer came.
func (p *player) clients(ph *timeline.Phase) (last time.Duration) {
	var waiting []*client // in their order
	for i := range ph.Clients {
		c := &client{partition: ph.Partitions[i%len(ph.Partitions)], due: p.now, number: i}
		waiting = append(waiting, c)
	}
	r := newRetries(ph)
	for n := 0; len(waiting) > 0 && (ph.Requests == 0 || n < ph.Requests); n++ {
		c := waiting[0]
		waiting = waiting[1:]
		if ph.Duration > 0 && c.due >= p.now+ph.Duration || p.err != nil {
			break
		}
		o, d := p.send(timeline.Arrival{Partition: c.partition, Phase: ph.Name, At: c.due, Cost: ph.Cost,
			Origin: ph.Origin})
		last = max(last, o.FirstByte)
		wait, more := time.Duration(0), true
		switch {
		case ph.Shape == timeline.Backoff:
			wait, more = r.next(c, o.FirstByte, d)
		case ph.Shape == timeline.HonorRetryAfter && !d.Allow:
			wait, more = told(d), d.RetryAfter != Never
		}
		if more {
			c.due = o.FirstByte + wait
			at, _ := slices.BinarySearchFunc(waiting, c, sooner)
			waiting = slices.Insert(waiting, at, c)
		}
	}
	return last
}

// retries is the retry policy that the clients of a backoff phase share.
type retries struct {
	timeline.Retry
	random  *rand.Rand
	left    int
	denials int
	closed  time.Duration
}

func newRetries(ph *timeline.Phase) *retries {
	r := &retries{Retry: ph.Retry, left: -1, random: rand.New(rand.NewPCG(ph.Retry.Seed, 2))}
	if r.Budget > 0 {
		r.left = ph.Clients * r.Budget / 100
	}
	return r
}

// next returns how long a client waits before it retries, and whether it does.
func (r *retries) next(c *client, now time.Duration, d Decision) (wait time.Duration, more bool) {
	if d.Allow || r.left == 0 {
		r.denials = 0
		return 0, false
	}
	r.left = max(-1, r.left-1)
	c.failures++
	share := func(d time.Duration) time.Duration { return time.Duration(r.random.Int64N(int64(d) + 1)) }
	wait = r.Wait(c.failures, told(d), told(d) > 0, share)
	if r.denials++; r.Breaker > 0 && r.denials >= r.Breaker {
		r.closed = max(r.closed, now) + r.Open
		wait = max(wait, r.closed-now)
	}
	return max(wait, 1), true
}
