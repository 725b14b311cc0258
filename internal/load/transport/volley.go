package transport

import (
	"cmp"
	"slices"
	"time"
)

// Loaded is an armed shot on its connection.
type Loaded struct {
	c *Conn
	s *Shot
}

// Arm takes an idle connection for s and writes all but the last two bytes of its header block; of a stream
// nothing, since all requests of its link leave in one write. It reports false where there is no connection,
// or it ends: then s is to be submitted when its gate opens.
func (t *Transport) Arm(s *Shot) (Loaded, bool) {
	c := t.reserve(s)
	if c == nil {
		return Loaded{}, false
	}
	return t.load(c, s)
}

// load arms s on a connection that was reserved for it. Where that has ended, s has no ticket any more.
func (t *Transport) load(c *Conn, s *Shot) (Loaded, bool) {
	if !c.arm(s) {
		t.mu.Lock()
		t.tickets--
		t.mu.Unlock()
		return Loaded{}, false
	}
	return Loaded{c, s}, true
}

// reserve takes an idle connection for a shot that is to be armed, the one that was opened or used first,
// or returns nil.
func (t *Transport) reserve(s *Shot) *Conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if idle := s.Pool.idle; len(idle) > 1 {
		s.Pool.idle = append(idle[1:], idle[0])
	}
	c := t.take(s.Pool)
	if c == nil {
		return nil
	}
	// Beyond a ceiling of requests the shot is left to its submission, which ends the run after the gate has
	// opened.
	if t.o.MaxRequests > 0 && t.tickets >= t.o.MaxRequests || !t.ticket() {
		s.Pool.idle = append(s.Pool.idle, c)
		return nil
	}
	s.tried = t.clock.Now()
	s.state.Store(taken)
	c.inflight.Store(s)
	return c
}

// Align puts those that leave in one write beside each other; the others keep their order.
func Align(ready []Loaded) {
	slices.SortStableFunc(ready, func(a, b Loaded) int { return cmp.Compare(a.c.carrier(), b.c.carrier()) })
}

// carrier is the number of the link of a stream, 0 for a connection of its own.
func (c *Conn) carrier() int {
	if c.link == nil {
		return 0
	}
	return c.link.number
}

// Fire completes the requests of ready, which was aligned, in one tight loop. It returns how many there were,
// and the clock before the first and the last write. Those whose connections have ended are over, or will be.
func (t *Transport) Fire(ready []Loaded) (n int, first, last time.Duration) {
	release := t.hold()
	defer release()
	for len(ready) > 0 {
		together := carried(ready)
		if at, fired := fire(together); fired > 0 {
			if n == 0 {
				first = at
			}
			n, last = n+fired, at
		}
		ready = ready[len(together):]
	}
	return n, first, last
}

// carried returns those at the beginning of ready that leave in one write: all of one link, or one
// connection.
func carried(ready []Loaded) []Loaded {
	n := 1
	for l := ready[0].c.link; l != nil && n < len(ready) && ready[n].c.link == l; {
		n++
	}
	return ready[:n]
}

// fire releases what leaves in one write. It returns the clock before it and how many left.
func fire(together []Loaded) (time.Duration, int) {
	if l := together[0].c.link; l != nil {
		return l.send(together)
	}
	at, fired := together[0].c.fire(together[0].s)
	if !fired {
		return 0, 0
	}
	return at, 1
}

// Disarm gives up shots that are not fired: their connections are closed, their requests were never whole.
// They are dropped.
func (t *Transport) Disarm(ready []Loaded) {
	for _, x := range ready {
		unwritten := x.c.link != nil
		if unwritten {
			x.s.state.CompareAndSwap(taken, lost)
		} else if !x.s.state.CompareAndSwap(armed, lost) {
			continue
		}
		x.c.inflight.CompareAndSwap(x.s, nil)
		t.forget(x.c)
		if !unwritten {
			t.sent.Add(-1)
		}
		x.s.Owner.Dropped(x.s)
	}
}

// Released tells that the last gate of the phase that runs is open: no shot of it waits for one.
func (t *Transport) Released() { t.released.Store(true) }
