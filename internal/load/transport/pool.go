package transport

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// poolKey identifies a pool of a run.
type poolKey struct {
	origin    bool
	partition string
}

// Pool is the connections of one partition, or of all partitions if they share. Its members are guarded by
// Transport.mu.
type Pool struct {
	origin bool
	// name and number are those of the partition. They determine the source address.
	name   string
	number int
	// idle are connections with nothing in flight; the last used one is last.
	idle []*Conn
	// waiting are shots that found no idle connection, first come first.
	waiting []*Shot
	// open counts connections, with those being dialled; opening counts only the latter.
	open, opening int
	// spare is how many connections are to be idle or being opened when one is taken.
	spare int
	// links are the connections of HTTP/2, whose streams are the pool's connections. linking is held while
	// one is opened. unlinked is why the last of them could not be opened; nil: it was.
	linking  sync.Mutex
	links    []*link
	unlinked error
	// kept tells that the current phase uses the pool. Other pools keep no connection idle.
	kept bool
}

// largestPools is the number of partitions up to which each has its own connections.
const largestPools = 64

// Pool returns the pool of a partition, at the target or the origin. Only one goroutine calls it.
func (t *Transport) Pool(origin bool, partition string) *Pool {
	key := poolKey{origin: origin}
	if !t.shared {
		key.partition = partition
	}
	if p, ok := t.pools[key]; ok {
		return p
	}
	p := &Pool{origin: origin, name: key.partition, number: t.number(partition)}
	t.mu.Lock()
	t.pools[key] = p
	t.mu.Unlock()
	return p
}

// Submit sends s on an idle connection of its pool, from the calling goroutine. Without an idle connection, s
// waits for one.
func (t *Transport) Submit(s *Shot) {
	s.tried = t.clock.Now()
	s.gated = false
	t.mu.Lock()
	if !t.ticket() {
		t.mu.Unlock()
		s.Owner.Dropped(s)
		return
	}
	t.place(s)
}

// place finds a connection for s. The caller holds the lock; place releases it.
func (t *Transport) place(s *Shot) {
	s.state.Store(taken)
	t.shed(s.Pool)
	if c := t.take(s.Pool); c != nil {
		t.carries(c, s)
		t.stock(s.Pool)
		t.mu.Unlock()
		c.send(s)
		return
	}
	s.Pool.waiting = append(s.Pool.waiting, s)
	t.hungry++
	t.feed()
	if t.alone.Load() {
		t.stock(s.Pool)
	}
	t.mu.Unlock()
}

// stock opens connections until p has its spare ones, beside those that shots wait for. The lock is held.
func (t *Transport) stock(p *Pool) {
	for len(p.idle)+p.opening < len(p.waiting)+p.spare && t.open < t.o.MaxConnections && !t.frugal.Load() {
		t.dialFor(p, nil)
	}
}

// again places a shot whose connection ended before anything was written to it.
func (t *Transport) again(s *Shot) {
	s.gated = false
	t.mu.Lock()
	if t.halted.Load() {
		t.mu.Unlock()
		s.Owner.Dropped(s)
		return
	}
	t.place(s)
}

// ticket counts one more request, or ends the run at the ceiling. The lock is held.
func (t *Transport) ticket() bool {
	if t.halted.Load() {
		return false
	}
	if t.o.MaxRequests > 0 && t.tickets >= t.o.MaxRequests {
		t.haltLocked(fmt.Sprintf(ceilingOfRequests, t.o.MaxRequests))
		return false
	}
	if !t.o.Permitted() {
		t.haltLocked(Unpermitted)
		return false
	}
	t.tickets++
	return true
}

// take returns an idle connection of p, or nil. It closes those that idled longer than their target allows.
// The lock is held.
func (t *Transport) take(p *Pool) *Conn {
	for len(p.idle) > 0 {
		c := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if c.idleMax > 0 && t.clock.Now()-c.idleSince > c.idleMax {
			t.discard(c)
			continue
		}
		return c
	}
	return nil
}

// Release gives back a connection that is ready for another request, if there is one. The goroutine that last
// used it calls it.
func (t *Transport) Release(c *Conn) {
	if c == nil {
		return
	}
	p := c.pool
	t.mu.Lock()
	if c.dead {
		t.feed()
		t.mu.Unlock()
		return
	}
	if len(p.waiting) > 0 && !t.o.Permitted() {
		t.haltLocked(Unpermitted)
	} else if len(p.waiting) > 0 && !t.outwaited(p) {
		s := t.unqueue(p)
		c.idleSince = t.clock.Now()
		t.carries(c, s)
		t.mu.Unlock()
		c.send(s)
		return
	}
	if !p.kept || t.frugal.Load() && c.served > 0 {
		t.discard(c)
		t.feed()
		t.mu.Unlock()
		return
	}
	c.idleSince = t.clock.Now()
	p.idle = append(p.idle, c)
	t.feed()
	t.mu.Unlock()
}

// unqueue takes the shot of p that waits longest. The lock is held.
func (n *connections) unqueue(p *Pool) (s *Shot) {
	s, p.waiting = p.waiting[0], p.waiting[1:]
	n.hungry--
	return s
}

// Resend sends s on a connection that the caller, its reader, still holds. If other shots wait for a
// connection, s queues behind them.
func (t *Transport) Resend(c *Conn, s *Shot) {
	s.tried = s.Obs.At
	s.gated = false
	t.mu.Lock()
	if t.hungry > 0 || c.dead {
		t.mu.Unlock()
		t.Release(c)
		t.Submit(s)
		return
	}
	ok := t.ticket()
	c.idleSince = s.tried
	t.mu.Unlock()
	if !ok {
		t.Release(c)
		s.Owner.Dropped(s)
		return
	}
	s.state.Store(taken)
	t.carries(c, s)
	if c.held != nil && c.br == nil { // the caller is its event loop
		c.loop.next = append(c.loop.next, Loaded{c, s})
		return
	}
	c.send(s)
}

// outwaited tells whether p must give up a connection to a poorer pool whose shot has waited longer. It is
// false while more connections may be opened. Without it, a pool that has no connection would wait for ever.
// The lock is held.
func (t *Transport) outwaited(p *Pool) bool {
	if t.hungry == len(p.waiting) || t.open < t.o.MaxConnections {
		return false
	}
	for _, other := range t.pools {
		if other != p && len(other.waiting) > other.opening && other.poorer(p) &&
			other.waiting[0].tried < p.waiting[0].tried {
			return true
		}
	}
	return false
}

// poorer tells whether p may take a connection from other at the limit of connections. It may if p has none,
// or fewer by two, or if the phase does not use other. So pools that all want more do not take from each
// other in turn.
func (p *Pool) poorer(other *Pool) bool { return p.open == 0 || other.open > p.open+1 || !other.kept }

// tardy is the lateness of a submission that shows that the sender is behind its plan.
const tardy = 10 * time.Millisecond

// feed opens connections for waiting shots, as far as there may be more. The pool with the fewest connections
// comes first, and of several the one whose shot has waited longest. An idle connection of a richer pool
// makes room. A sender that is behind opens few at once, since opening would take the time that it needs. The
// lock is held.
func (t *Transport) feed() {
	if t.hungry == 0 || t.halted.Load() {
		return
	}
	for {
		var next *Pool
		for _, p := range t.pools {
			if len(p.waiting) > p.opening && (next == nil || p.before(next)) {
				next = p
			}
		}
		if next == nil || next.behind() && t.opening >= dialling || !t.room(next) {
			return
		}
		t.dialFor(next, nil)
	}
}

// before tells whether p gets a connection before other. Both have a shot for which none is being opened.
func (p *Pool) before(other *Pool) bool {
	if p.open != other.open {
		return p.open < other.open
	}
	return p.waiting[p.opening].tried < other.waiting[other.opening].tried
}

// behind tells whether the next shot of p without a dial was already late when it was submitted. It is false
// if p has no connection that the shot can wait for.
func (p *Pool) behind() bool {
	s := p.waiting[p.opening]
	return p.open > 0 && s.tried-s.Obs.At > tardy
}

// room tells whether p may open one more connection. It may close an idle one of another pool. The lock is
// held.
func (t *Transport) room(p *Pool) bool {
	if t.open < t.o.MaxConnections {
		return true
	}
	for _, other := range t.pools {
		if other != p && len(other.idle) > 0 && p.poorer(other) {
			t.trim(other, len(other.idle)-1)
			return true
		}
	}
	return false
}

// discard closes a connection that is in no list. The lock is held.
func (t *Transport) discard(c *Conn) {
	if c.dead {
		return
	}
	c.dead = true
	c.pool.open--
	t.open--
	delete(t.live, c)
	c.close()
}

// discardIf closes idle connections of p. The lock is held.
func (t *Transport) discardIf(p *Pool, is func(*Conn) bool) {
	p.idle = slices.DeleteFunc(p.idle, func(c *Conn) bool {
		if !is(c) {
			return false
		}
		t.discard(c)
		return true
	})
}

// forget takes a connection out of its pool and closes it. It returns the shot in flight on it, or nil. It
// also returns nil if the connection was discarded before.
func (t *Transport) forget(c *Conn) *Shot {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.dead {
		return nil
	}
	if i := slices.Index(c.pool.idle, c); i >= 0 {
		c.pool.idle = slices.Delete(c.pool.idle, i, i+1)
	}
	t.discard(c)
	t.feed()
	return c.inflight.Load()
}

// dialFor opens a connection for p in a goroutine. It calls then, unless nil, when that succeeded or failed.
// The lock is held.
func (t *Transport) dialFor(p *Pool, then func()) {
	if t.aborted.Load() {
		if then != nil {
			then()
		}
		return
	}
	p.opening++
	t.opening++
	p.open++
	t.open++
	t.wg.Go(func() {
		t.connect(p)
		if then != nil {
			then()
		}
	})
}

// connect dials and gives the connection to p. If the dial fails, the shot that waits longest ends with the
// reason, unless another dial is on its way for it.
func (t *Transport) connect(p *Pool) {
	c, err := t.dial(p)
	t.mu.Lock()
	p.opening--
	t.opening--
	if err == nil && t.aborted.Load() {
		c.close()
		err = ErrInterrupted
	}
	if err == nil {
		t.reached, t.timedOut = true, 0
		if !c.dead { // the link of a stream may have ended already
			t.live[c] = struct{}{}
		}
		if c.link == nil {
			t.wg.Add(1)
			c.begin()
		}
		t.mu.Unlock()
		t.Release(c)
		t.mu.Lock()
		t.feed()
		t.mu.Unlock()
		return
	}
	p.open--
	t.open--
	t.failed = true
	if CauseWord(err) == CauseTimeout {
		t.timedOut++
		t.crowded()
	}
	var s *Shot
	if len(p.waiting) > p.opening {
		s = t.unqueue(p)
	}
	t.feed()
	t.mu.Unlock()
	if s != nil {
		s.state.Store(lost)
		t.fail(s, CauseWord(err), err)
	}
}

// Purge drops the waiting shots of one driver, or of all drivers for nil.
func (t *Transport) Purge(of Driver) {
	var out []*Shot
	t.mu.Lock()
	for _, p := range t.pools {
		p.waiting = slices.DeleteFunc(p.waiting, func(s *Shot) bool {
			if of != nil && s.Owner != of {
				return false
			}
			out = append(out, s)
			return true
		})
	}
	t.tickets, t.hungry = t.tickets-len(out), t.hungry-len(out)
	t.mu.Unlock()
	for _, s := range out {
		s.Owner.Dropped(s)
	}
}

// spares makes the pools of the next phase keep one connection more than they use. If each request has its
// own connection, they keep as many as the phase wants. Other pools keep none.
func (t *Transport) spares(of map[*Pool]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.pools {
		if p.spare = of[p]; !t.alone.Load() {
			p.spare = min(p.spare, 1)
		}
	}
}

// stale is how long a connection may have been idle when a phase begins. An older one is replaced, since a
// target that closes idle connections might close it while a request is in flight.
const stale = time.Second

// dialling is how many connections are opened at once before a phase. It is small: if its queue of
// connections is full, the target's kernel drops some, and the next try is a second later.
const dialling = 16

// Warm opens connections until each pool has as many idle ones as it wants, up to MaxConnections. It returns
// when all are open or have failed. It closes connections that no pool wants. If none was ever opened, or the
// target has no room for more, it does not try the rest: each batch would take a whole time-out.
func (t *Transport) Warm(want map[*Pool]int) {
	t.spares(nil)
	t.warm(want)
}

// warm is Warm, but leaves spare as it is.
func (t *Transport) warm(want map[*Pool]int) {
	var todo []*Pool
	t.retire(want)
	t.mu.Lock()
	for _, p := range t.pools {
		t.discardIf(p, func(c *Conn) bool { return t.clock.Now()-c.idleSince > stale || c.link.worn() })
		for n := want[p] - len(p.idle) - p.opening; n > 0; n-- {
			todo = append(todo, p)
		}
	}
	t.mu.Unlock()
	slots := make(chan struct{}, dialling)
	var wait sync.WaitGroup
	for _, p := range todo {
		select {
		case slots <- struct{}{}:
		case <-t.sending.Done():
			wait.Wait()
			return
		}
		t.mu.Lock()
		if t.failed && !t.reached || t.open >= t.o.MaxConnections || t.places > 0 && t.open >= t.places {
			t.mu.Unlock()
			break
		}
		wait.Add(1)
		t.dialFor(p, func() { <-slots; wait.Done() })
		t.mu.Unlock()
	}
	wait.Wait()
}

// Fresh sets whether each request from now on has its own connection. If so, connections left by earlier
// requests are closed.
func (t *Transport) Fresh(fresh bool) {
	if t.alone.Store(fresh); !fresh {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.pools {
		t.trim(p, 0)
	}
}

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
