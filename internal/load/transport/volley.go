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

// Arm takes an idle connection for s and writes all but the last two bytes of its header block. On a stream
// it writes nothing, since all requests of a link leave in one write. It reports false if there is no
// connection, or if the connection ended. Then s must be submitted when its gate opens.
func (t *Transport) Arm(s *Shot) (Loaded, bool) {
	c := t.reserve(s)
	if c == nil {
		return Loaded{}, false
	}
	return t.load(c, s)
}

// load arms s on a connection that was reserved for it. If the connection has ended, load gives the ticket of
// s back.
func (t *Transport) load(c *Conn, s *Shot) (Loaded, bool) {
	if !c.arm(s) {
		t.mu.Lock()
		t.tickets--
		t.mu.Unlock()
		return Loaded{}, false
	}
	return Loaded{c, s}, true
}

// reserve takes the idle connection that was opened or used first, for a shot that is to be armed. It returns
// nil if there is none.
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
	// Beyond a ceiling of requests the shot is not armed. It is submitted after the gate has opened, which
	// ends the run.
	if t.o.MaxRequests > 0 && t.tickets >= t.o.MaxRequests || !t.ticket() {
		s.Pool.idle = append(s.Pool.idle, c)
		return nil
	}
	s.tried = t.clock.Now()
	s.state.Store(taken)
	t.carries(c, s)
	return c
}

// Align puts shots that leave in one write beside each other. The others keep their order.
func Align(ready []Loaded) {
	slices.SortStableFunc(ready, func(a, b Loaded) int { return cmp.Compare(a.c.carrier(), b.c.carrier()) })
}

// carrier returns the number of the link of a stream; 0 for a connection of HTTP/1.1.
func (c *Conn) carrier() int {
	if c.link == nil {
		return 0
	}
	return c.link.number
}

// Fire completes the requests of ready, which Align has sorted, in one tight loop. It returns how many it
// completed, and the clock before the first and the last write. Requests whose connections have ended are
// over, or will be.
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

// carried returns the first elements of ready that leave in one write: all of one link, or one connection.
func carried(ready []Loaded) []Loaded {
	n := 1
	for l := ready[0].c.link; l != nil && n < len(ready) && ready[n].c.link == l; {
		n++
	}
	return ready[:n]
}

// fire releases shots that leave in one write. It returns the clock before that write and how many left.
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

// Disarm drops shots that are not fired. Their connections are closed, since their requests were never whole.
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

// Released tells the transport that the last gate of the current phase is open: no shot of the phase waits
// for one.
func (t *Transport) Released() {
	t.released.Store(true)
	t.wake()
}

// wake lets relieve look now.
func (t *Transport) wake() {
	select {
	case t.wakes <- struct{}{}:
	default:
	}
}
