package load

import (
	"slices"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/cause"
)

// poolKey tells the pools of a run apart.
type poolKey struct {
	origin    bool
	partition string
}

// pool is the connections of one partition, or of all where they can share. Its members are guarded by
// recorder.mu.
type pool struct {
	origin bool
	// name and number are those of the partition; they make the source address.
	name   string
	number int
	// idle are connections with nothing in flight, the last used one last.
	idle []*conn
	// waiting are shots that found no idle connection, first come first.
	waiting []*shot
	// open counts connections, opening those being dialled.
	open, opening int
	// spare asks for one more connection to be opened when the last idle one is taken.
	spare bool
	// links are the connections of HTTP/2, linking is held while one is opened: its streams are the pool's
	// connections.
	linking sync.Mutex
	links   []*link
	// kept tells that the phase that runs uses the pool: others leave no connection idle.
	kept bool
}

// largestPools is the number of partitions up to which each has connections of its own.
const largestPools = 64

// poolFor returns the pool of a partition. Only the sending goroutine calls it.
func (r *recorder) poolFor(origin bool, partition string) *pool {
	key := poolKey{origin: origin}
	if !r.shared {
		key.partition = partition
	}
	if p, ok := r.pools[key]; ok {
		return p
	}
	p := &pool{origin: origin, name: key.partition, number: r.number(partition)}
	r.mu.Lock()
	r.pools[key] = p
	r.mu.Unlock()
	return p
}

// submit sends s on an idle connection of its pool, from the calling goroutine, or leaves it waiting for one.
func (r *recorder) submit(s *shot) {
	s.tried = r.clock.Now()
	s.gated = false
	r.mu.Lock()
	if !r.ticket() {
		r.mu.Unlock()
		s.owner.dropped(s)
		return
	}
	r.place(s)
}

// place finds a connection for s. It is called with the lock held and gives it back.
func (r *recorder) place(s *shot) {
	s.state.Store(taken)
	r.shed(s.pool)
	if c := r.take(s.pool); c != nil {
		c.inflight.Store(s)
		last := s.pool.spare && len(s.pool.idle) == 0 && s.pool.opening == 0
		if last && r.open < r.o.MaxConnections && !r.frugal.Load() {
			r.dialFor(s.pool, nil)
		}
		r.mu.Unlock()
		c.send(s)
		return
	}
	s.pool.waiting = append(s.pool.waiting, s)
	r.hungry++
	r.feed()
	r.mu.Unlock()
}

// again places a shot whose connection ended before anything was written to it.
func (r *recorder) again(s *shot) {
	s.gated = false
	r.mu.Lock()
	if r.halted.Load() {
		r.mu.Unlock()
		s.owner.dropped(s)
		return
	}
	r.place(s)
}

// ticket counts one more request, or ends the run where the ceiling is reached. It is called with the lock
// held.
func (r *recorder) ticket() bool {
	if r.halted.Load() {
		return false
	}
	if r.o.MaxRequests > 0 && r.tickets >= r.o.MaxRequests {
		r.haltLocked(cause.CeilingOfRequests(r.o.MaxRequests))
		return false
	}
	if !r.o.Permitted() {
		r.haltLocked(unpermitted)
		return false
	}
	r.tickets++
	return true
}

// take returns an idle connection of p that its target keeps open long enough, or nil. The lock is held.
func (r *recorder) take(p *pool) *conn {
	for len(p.idle) > 0 {
		c := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if c.idleMax > 0 && r.clock.Now()-c.idleSince > c.idleMax {
			r.discard(c)
			continue
		}
		return c
	}
	return nil
}

// release gives back a connection that is ready for another request, from the goroutine that was the last to
// use it.
func (r *recorder) release(c *conn) {
	p := c.pool
	r.mu.Lock()
	if c.dead {
		r.feed()
		r.mu.Unlock()
		return
	}
	if len(p.waiting) > 0 && !r.o.Permitted() {
		r.haltLocked(unpermitted)
	} else if len(p.waiting) > 0 && !r.outwaited(p) {
		s := p.waiting[0]
		p.waiting = p.waiting[1:]
		r.hungry--
		c.inflight.Store(s)
		r.mu.Unlock()
		c.send(s)
		return
	}
	if !p.kept || r.frugal.Load() && c.served > 0 {
		r.discard(c)
		r.feed()
		r.mu.Unlock()
		return
	}
	c.idleSince = r.clock.Now()
	p.idle = append(p.idle, c)
	r.feed()
	r.mu.Unlock()
}

// outwaited tells whether there is no room for more connections and a shot of a poorer pool waits longer than
// those of p: then p gives up a connection, or a pool without one would wait for ever. The lock is held.
func (r *recorder) outwaited(p *pool) bool {
	if r.hungry == len(p.waiting) || r.open < r.o.MaxConnections {
		return false
	}
	for _, other := range r.pools {
		if other != p && len(other.waiting) > other.opening && other.poorer(p) &&
			other.waiting[0].tried < p.waiting[0].tried {
			return true
		}
	}
	return false
}

// poorer tells whether p may take a connection of other where there is no room for more: it has none, or has
// fewer by two. So pools that all want more do not take from each other in turn.
func (p *pool) poorer(other *pool) bool { return p.open == 0 || other.open > p.open+1 || !other.kept }

// tardy is how late a request of the plan is submitted by a sender that is behind.
const tardy = 10 * time.Millisecond

// feed opens connections for waiting shots as far as there may be more: for the pool that has the fewest, and
// of several for the shot that waits longest. An idle connection of a richer pool makes room. A sender that
// is behind opens few at once, since they would take what time is left to it. The lock is held.
func (r *recorder) feed() {
	if r.hungry == 0 || r.halted.Load() {
		return
	}
	for {
		var next *pool
		for _, p := range r.pools {
			if len(p.waiting) > p.opening && (next == nil || p.before(next)) {
				next = p
			}
		}
		if next == nil || next.behind() && r.opening >= dialling || !r.room(next) {
			return
		}
		r.dialFor(next, nil)
	}
}

// before tells whether p gets a connection before other. Both have a shot that none is opened for.
func (p *pool) before(other *pool) bool {
	if p.open != other.open {
		return p.open < other.open
	}
	return p.waiting[p.opening].tried < other.waiting[other.opening].tried
}

// behind tells whether the next shot of p that no connection is opened for was late when it was submitted,
// and p has another connection that it can wait for.
func (p *pool) behind() bool {
	s := p.waiting[p.opening]
	return p.open > 0 && s.tried-s.obs.At > tardy
}

// room tells whether p may open one more connection. The lock is held.
func (r *recorder) room(p *pool) bool {
	if r.open < r.o.MaxConnections {
		return true
	}
	for _, other := range r.pools {
		if other != p && len(other.idle) > 0 && p.poorer(other) {
			c := other.idle[0]
			other.idle = other.idle[1:]
			r.discard(c)
			return true
		}
	}
	return false
}

// discard closes a connection that is in no list. The lock is held.
func (r *recorder) discard(c *conn) {
	if c.dead {
		return
	}
	c.dead = true
	c.pool.open--
	r.open--
	delete(r.live, c)
	c.close()
}

// forget takes a connection out of its pool and closes it. It returns the shot in flight on it, or nil; nil,
// too, where that was done before.
func (r *recorder) forget(c *conn) *shot {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.dead {
		return nil
	}
	if i := slices.Index(c.pool.idle, c); i >= 0 {
		c.pool.idle = slices.Delete(c.pool.idle, i, i+1)
	}
	r.discard(c)
	r.feed()
	return c.inflight.Load()
}

// dialFor opens a connection for p in a goroutine; then is called when that succeeded or failed, nil for
// nothing. The lock is held.
func (r *recorder) dialFor(p *pool, then func()) {
	if r.aborted.Load() {
		if then != nil {
			then()
		}
		return
	}
	p.opening++
	r.opening++
	p.open++
	r.open++
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		r.connect(p)
		if then != nil {
			then()
		}
	}()
}

// connect dials and gives the connection to p. Where that fails, the shot that waits longest ends with the
// reason, unless another connection is on its way to it.
func (r *recorder) connect(p *pool) {
	began := r.clock.Now()
	c, err := r.dial(p)
	if took := int64(r.clock.Now() - began); err == nil && took > r.slowest.Load() {
		r.slowest.Store(took) // a race of two loses one of them: this is an estimate
	}
	r.mu.Lock()
	p.opening--
	r.opening--
	if err == nil && r.aborted.Load() {
		r.opened.Add(-1)
		c.close()
		err = cause.ErrInterrupted
	}
	if err == nil {
		if !c.dead { // the link of a stream may have ended already
			r.live[c] = struct{}{}
		}
		if c.link == nil {
			r.wg.Add(1)
			c.begin()
		}
		r.mu.Unlock()
		r.release(c)
		r.mu.Lock()
		r.feed()
		r.mu.Unlock()
		return
	}
	p.open--
	r.open--
	var s *shot
	if len(p.waiting) > p.opening {
		s = p.waiting[0]
		p.waiting = p.waiting[1:]
		r.hungry--
	}
	r.feed()
	r.mu.Unlock()
	if s != nil {
		s.state.Store(lost)
		r.fail(s, cause.Word(err), err)
	}
}

// purge drops the waiting shots of one driver, or of all for nil.
func (r *recorder) purge(of driver) {
	var out []*shot
	r.mu.Lock()
	for _, p := range r.pools {
		keep := p.waiting[:0]
		for _, s := range p.waiting {
			if of == nil || s.owner == of {
				out = append(out, s)
				r.tickets--
				r.hungry--
			} else {
				keep = append(keep, s)
			}
		}
		p.waiting = keep
	}
	r.mu.Unlock()
	for _, s := range out {
		s.owner.dropped(s)
	}
}

// spares makes the pools of the next phase keep one connection more than they use; no others.
func (r *recorder) spares(of map[*pool]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pools {
		p.spare = of[p] > 0
	}
}

// stale is how long a connection may have been idle when a phase begins; an older one is replaced, so that a
// target that closes idle connections does not do it while a request is on its way.
const stale = time.Second

// dialling is how many connections are opened at once before a phase: few, since a full queue of connections
// makes the kernel of the target drop some, and the next try is a second later.
const dialling = 16

// warm opens connections until each pool has as many idle ones as it wants, as far as MaxConnections allows,
// and returns when all are open or have failed. It closes those that nobody wants.
func (r *recorder) warm(want map[*pool]int) {
	var todo []*pool
	r.retire(want)
	r.mu.Lock()
	for _, p := range r.pools {
		for len(p.idle) > 0 && r.clock.Now()-p.idle[0].idleSince > stale {
			c := p.idle[0]
			p.idle = p.idle[1:]
			r.discard(c)
		}
		for n := want[p] - len(p.idle) - p.opening; n > 0; n-- {
			todo = append(todo, p)
		}
	}
	r.mu.Unlock()
	slots := make(chan struct{}, dialling)
	var wait sync.WaitGroup
	for _, p := range todo {
		select {
		case slots <- struct{}{}:
		case <-r.sending.Done():
			wait.Wait()
			return
		}
		r.mu.Lock()
		if r.open >= r.o.MaxConnections {
			r.mu.Unlock()
			break
		}
		wait.Add(1)
		r.dialFor(p, func() { <-slots; wait.Done() })
		r.mu.Unlock()
	}
	wait.Wait()
}

// closeIdle closes the connections that earlier phases left, so that a phase with fresh ones finds none.
func (r *recorder) closeIdle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pools {
		for _, c := range p.idle {
			r.discard(c)
		}
		p.idle = nil
	}
}
