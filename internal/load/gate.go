package load

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// gate releases the requests of a phase in groups: requests that are due at the same time leave together.
// Before that, all but the last two bytes of every header block are written, on open connections:
//
//	arm      GET / HTTP/1.1 ... \r\n        to each connection
//	settle   the target takes it in
//	fire                             \r\n   to each connection, in one tight loop
//
// A request for which there was no connection follows when a connection becomes free.
type gate struct {
	p      *phase
	groups []group
}

// group is the shots of a gate that are due at the same time: fixed[from:to].
type group struct {
	at       time.Duration
	from, to int
	ready    []transport.Loaded
	rest     []*transport.Shot
	armed    bool
}

// armedApart is how far apart two groups may be and still be armed together, before the first is released. A
// target may date a request by its first bytes, so it is short.
const armedApart = 100 * time.Millisecond

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

// warm opens a connection for every request, up to MaxConnections. If that is too few, every group gets its
// share.
func (g *gate) warm() {
	want := map[*transport.Pool]int{}
	left := g.p.r.o.MaxConnections
	for k := 0; left > 0; k++ {
		before := left
		for i := range g.groups {
			if from := g.groups[i].from + k; from < g.groups[i].to && left > 0 {
				want[g.p.fixed[from].Pool]++
				left--
			}
		}
		if left == before {
			break
		}
	}
	g.p.r.net.Warm(want)
}

// prepare opens the connections, arms the first group shortly before the gate opens, and waits for the
// requests to settle. opens may be past: it opens as soon as it is ready.
func (g *gate) prepare(opens time.Duration) runner {
	g.warm()
	if len(g.groups) > 0 {
		if opens-armTime > g.p.r.clock.Now() {
			g.p.r.pause(opens - armTime)
		}
		g.arm(0)
		g.p.r.pause(g.p.r.clock.Now() + settle)
	}
	return g.run
}

func (g *gate) run(begin time.Duration) time.Duration {
	g.release(begin)
	return g.p.finish(begin)
}

// release arms and fires one group after the other. Their times count from begin.
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
			r.net.Halt(transport.Unpermitted)
			released = false
		}
		if !released {
			g.disarm()
			break
		}
		g.fire(i, due)
	}
	r.net.Released()
	g.p.done()
}

// arm arms a group and those that are due at most armedApart after it.
func (g *gate) arm(first int) {
	last := first
	for last+1 < len(g.groups) && g.groups[last+1].at-g.groups[first].at <= armedApart {
		last++
	}
	for _, x := range g.turns(first, last) {
		gr, s := &g.groups[x.group], &g.p.fixed[x.shot]
		g.p.add(1)
		if loaded, ok := g.p.r.net.Arm(s); ok {
			gr.ready = append(gr.ready, loaded)
			continue
		}
		g.p.done()
		gr.rest = append(gr.rest, s)
	}
	for i := first; i <= last; i++ {
		g.groups[i].armed = true
		transport.Align(g.groups[i].ready)
	}
}

// turn is a shot of a group, both as indices in the gate.
type turn struct{ group, shot int }

// turns returns the order in which the shots of some groups get their connections. If there are enough
// connections, the first group comes first: a target that serves few at a time serves the earliest first.
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

// fire releases a group and records the time between its first and its last release.
func (g *gate) fire(i int, due time.Duration) {
	gr, r := &g.groups[i], g.p.r
	for k := gr.from; k < gr.to; k++ {
		g.p.obs[k].At = due
	}
	if n, first, last := r.net.Fire(gr.ready); n > 0 {
		r.late(last - due)
		r.mu.Lock()
		r.spreads = append(r.spreads, timeline.Spread{Phase: g.p.plan.Name, Requests: n, Width: last - first})
		r.mu.Unlock()
	}
	gr.ready = nil
	for _, s := range gr.rest {
		g.p.add(1)
		r.net.Submit(s)
	}
}

// disarm gives up the groups that were not released.
func (g *gate) disarm() {
	for i := range g.groups {
		g.p.r.net.Disarm(g.groups[i].ready)
	}
	g.groups = slices.Clip(g.groups[:0])
}
