package load

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// gate releases the requests of a phase in groups: those that are due at the same time leave together.
// Everything but the last two bytes of every header block is written before, on connections that are open:
//
//	arm      GET / HTTP/1.1 ... \r\n        to each connection
//	settle   the target takes it in
//	fire                             \r\n   to each connection, in one tight loop
//
// Requests for which there was no connection follow as connections get free.
type gate struct {
	p      *phase
	groups []group
}

// group is the shots of a gate that are due at once: those of fixed[from:to].
type group struct {
	at       time.Duration
	from, to int
	ready    []loaded
	rest     []*shot
	armed    bool
}

// loaded is an armed shot on its connection.
type loaded struct {
	c *conn
	s *shot
}

// armedApart is how far apart groups may be and still be armed before the first of them is released.
const armedApart = 500 * time.Millisecond

func newGate(p *phase) *gate {
	g := &gate{p: p}
	for i := range p.plan.Arrivals {
		at := p.plan.Arrivals[i].At
		if n := len(g.groups); n > 0 && g.groups[n-1].at == at {
			g.groups[n-1].to = i + 1
			continue
		}
		g.groups = append(g.groups, group{at: at, from: i, to: i + 1})
	}
	return g
}

// warm opens a connection for every request, as far as there may be so many; where there may not, every group
// gets its share.
func (g *gate) warm() {
	want := map[*pool]int{}
	left := g.p.r.o.MaxConnections
	for k := 0; left > 0; k++ {
		before := left
		for i := range g.groups {
			if from := g.groups[i].from + k; from < g.groups[i].to && left > 0 {
				want[g.p.fixed[from].pool]++
				left--
			}
		}
		if left == before {
			break
		}
	}
	g.p.r.spares(nil)
	g.p.r.warm(want)
}

// prepare opens the connections, arms the first group, and waits for it to settle.
func (g *gate) prepare() runner {
	g.warm()
	if len(g.groups) > 0 {
		g.arm(0)
		g.p.r.pause(g.p.r.clock.Now() + settle)
	}
	return g
}

func (g *gate) run(begin time.Duration) time.Duration {
	g.release(begin)
	return g.p.finish(begin)
}

// release arms and fires one group after the other; their times count from begin.
func (g *gate) release(begin time.Duration) {
	r := g.p.r
	g.p.add(1)
	for i := range g.groups {
		due := begin + g.groups[i].at
		if !g.groups[i].armed {
			r.pause(due - armTime)
			g.arm(i)
		}
		released := r.pause(due)
		if released && !r.o.Permitted() {
			r.halt(unpermitted)
			released = false
		}
		if !released {
			g.disarm()
			break
		}
		g.fire(i, due)
	}
	r.released.Store(true)
	g.p.done()
}

// arm arms a group and those that are due soon after it.
func (g *gate) arm(first int) {
	last := first
	for last+1 < len(g.groups) && g.groups[last+1].at-g.groups[first].at <= armedApart {
		last++
	}
	for _, x := range g.turns(first, last) {
		gr, s := &g.groups[x.group], &g.p.fixed[x.shot]
		if c := g.p.r.reserve(s); c != nil && c.arm(s) {
			gr.ready = append(gr.ready, loaded{c, s})
		} else {
			gr.rest = append(gr.rest, s)
		}
	}
	for i := first; i <= last; i++ {
		g.groups[i].armed = true
		slices.SortStableFunc(g.groups[i].ready, func(a, b loaded) int {
			return cmp.Compare(a.c.carrier(), b.c.carrier())
		})
	}
}

// turn is a shot of a group, both by their places in the gate.
type turn struct{ group, shot int }

// turns returns in which order the shots of some groups get their connections. Where there are enough, the
// first group comes first: a target that serves few connections at a time serves those that came first.
// Otherwise every group gets its share.
func (g *gate) turns(first, last int) []turn {
	var out []turn
	for i := first; i <= last; i++ {
		for k := g.groups[i].from; k < g.groups[i].to; k++ {
			out = append(out, turn{i, k})
		}
	}
	if len(out) > g.p.r.o.MaxConnections {
		place := func(t turn) int { return t.shot - g.groups[t.group].from }
		slices.SortStableFunc(out, func(a, b turn) int { return cmp.Compare(place(a), place(b)) })
	}
	return out
}

// reserve takes an idle connection for a shot that is to be armed, the one that was opened or used first,
// or returns nil.
func (r *recorder) reserve(s *shot) *conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if idle := s.pool.idle; len(idle) > 1 {
		s.pool.idle = append(idle[1:], idle[0])
	}
	c := r.take(s.pool)
	if c == nil {
		return nil
	}
	// Beyond a ceiling of requests the shot is left to its submission, which ends the run after the gate has
	// opened.
	if r.o.MaxRequests > 0 && r.tickets >= r.o.MaxRequests || !r.ticket() {
		s.pool.idle = append(s.pool.idle, c)
		return nil
	}
	s.owner.(*phase).add(1)
	s.tried = r.clock.Now()
	s.state.Store(taken)
	c.inflight.Store(s)
	return c
}

// fire releases a group and records how far apart its first and last release were.
func (g *gate) fire(i int, due time.Duration) {
	gr, r := &g.groups[i], g.p.r
	for k := gr.from; k < gr.to; k++ {
		g.p.obs[k].At = due
	}
	n, first, last := 0, time.Duration(0), time.Duration(0)
	release := r.hold()
	for ready := gr.ready; len(ready) > 0; {
		together := carried(ready)
		if at, fired := fire(together); fired > 0 {
			if n == 0 {
				first = at
			}
			n, last = n+fired, at
		}
		ready = ready[len(together):]
	}
	release()
	if n > 0 {
		r.late(last - due)
		r.mu.Lock()
		r.spreads = append(r.spreads, timeline.Spread{Phase: g.p.plan.Name, Requests: n, Width: last - first})
		r.mu.Unlock()
	}
	gr.ready = nil
	for _, s := range gr.rest {
		g.p.add(1)
		r.submit(s)
	}
}

// carrier is the number of the link of a stream, 0 for a connection of its own.
func (c *conn) carrier() int {
	if c.link == nil {
		return 0
	}
	return c.link.number
}

// carried returns those at the beginning of ready that leave in one write: all of one link, or one
// connection.
func carried(ready []loaded) []loaded {
	n := 1
	for l := ready[0].c.link; l != nil && n < len(ready) && ready[n].c.link == l; {
		n++
	}
	return ready[:n]
}

// fire releases what leaves in one write. It returns the clock before it and how many left.
func fire(together []loaded) (time.Duration, int) {
	if l := together[0].c.link; l != nil {
		return l.send(together)
	}
	at, fired := together[0].c.fire(together[0].s)
	if !fired {
		return 0, 0
	}
	return at, 1
}

// disarm gives up the groups that are not released: their connections are closed, their requests were never
// whole.
func (g *gate) disarm() {
	for i := range g.groups {
		for _, x := range g.groups[i].ready {
			unwritten := x.c.link != nil
			if unwritten {
				x.s.state.CompareAndSwap(taken, lost)
			} else if !x.s.state.CompareAndSwap(armed, lost) {
				continue
			}
			x.c.inflight.CompareAndSwap(x.s, nil)
			g.p.r.forget(x.c)
			if !unwritten {
				g.p.r.sent.Add(-1)
			}
			g.p.dropped(x.s)
		}
	}
	g.groups = slices.Clip(g.groups[:0])
}
