package transport

import (
	"context"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A target with a thread for each connection cannot answer while connections without a request hold all
// threads:
//
//	threads      [idle][idle] ... [idle]      all taken
//	waiting      request, request             no thread is left to read them
//
// So connections are opened when a phase needs them, and closed when no request of the phase needs them. If
// requests wait for long while connections are idle, the idle ones are closed.

const (
	// hush is how long a request may wait for its answer while connections are idle, before those are closed.
	// hushGate is the same once the last group of a gate is released: nothing else of its phase needs
	// connections.
	hush     = time.Second
	hushGate = 100 * time.Millisecond
	// relieved is how soon after closing the answers arrive that it made possible.
	relieved = 100 * time.Millisecond
	// listens is how often relieve looks while requests wait.
	listens = 25 * time.Millisecond
	// dormant is how often it looks while no request is in flight. The next one wakes it.
	dormant = time.Hour
)

// relief closes idle connections while requests wait. It belongs to one goroutine.
type relief struct {
	// waiting are the requests that had waited for long at the look before: the expiry of each, by its
	// connection. moved is when one of them was last answered without any connection being closed.
	waiting map[*Conn]int64
	moved   time.Duration
	// held are the requests that waited when connections were closed, at the clock `at`. It is nil if no
	// closing is being observed.
	held map[*Conn]int64
	at   time.Duration
	// closed is how many connections were closed. quiet is the least time that the requests had waited.
	closed int
	quiet  time.Duration
	// helped counts how often answers came as soon as connections were closed. next is the earliest time to
	// close connections again.
	helped int
	next   time.Duration
}

// relieve looks for requests that wait, until ctx ends.
func (t *Transport) relieve(ctx context.Context) {
	x, calm := relief{moved: -relieved}, false // calm: nothing woke it from the last rest
	for ctx.Err() == nil {
		d := listens
		if x.held == nil && x.waiting == nil && t.waiting(0) == nil { // what comes has not waited
			d = min(hush, t.o.Timeout/4)
			if t.released.Load() {
				d = hushGate
			}
			if t.rests.Store(calm); calm && t.nothingFlies() {
				d = dormant
			}
		}
		calm = Rest(ctx, d, t.wakes)
		t.rests.Store(false)
		if t.released.Load() {
			t.unburden(t.waiting(hushGate))
			continue
		}
		x.look(t)
	}
}

// nothingFlies tells that no request has a connection.
func (t *Transport) nothingFlies() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.live {
		if c.inflight.Load() != nil {
			return false
		}
	}
	return true
}

// carries gives a request to its connection, and wakes relieve.
func (t *Transport) carries(c *Conn, s *Shot) {
	c.inflight.Store(s)
	if t.rests.Load() {
		t.wake()
	}
}

// look closes the idle connections if requests wait for long and none of them is answered. If that helps
// twice, the target serves few connections at a time, and from then on none is left idle. The second closing
// comes after 1.5 times the wait. Answers that are slow for another reason, at even times, follow soon after
// only one of the two closings.
func (x *relief) look(t *Transport) {
	now := t.clock.Now()
	if x.held != nil {
		switch {
		case over(x.held) >= 2:
			x.helps(t)
		case now-x.at <= relieved:
			return
		}
		x.held, x.waiting = nil, nil
	}
	if over(x.waiting) > 0 {
		x.moved = now
	}
	patience := min(hush, t.o.Timeout/4) * time.Duration(2+x.helped) / 2
	x.waiting = t.waiting(patience)
	if now < x.next || now-x.moved < 2*relieved {
		return
	}
	if n := t.unburden(x.waiting); n > 0 {
		x.held, x.closed, x.at, x.quiet, x.next = x.waiting, n, now, patience, now+2*patience
	}
}

// over counts the requests that were answered since they were seen waiting.
func over(waiting map[*Conn]int64) int {
	n := 0
	for c, was := range waiting {
		if is := c.expires.Load(); is != was && is != expired {
			n++
		}
	}
	return n
}

// helps counts a closing that was followed at once by several answers. The second one is enough.
func (x *relief) helps(t *Transport) {
	x.next = 0
	if x.helped++; x.helped < 2 || t.frugal.Swap(true) {
		return
	}
	t.Note(timeline.OfTarget+"requests waited for %v while %d connections were idle, and were answered "+
		"as soon as those were closed: the target seems to serve few connections at a time, such as "+
		"one for each thread (give it more threads); from then on rlcheck left none idle", x.quiet, x.closed)
}

// crowded counts the places of the target if two connections in a row timed out while others were idle: those
// keep the target from accepting them. A single one may be lost on its way. The lock is held.
func (t *Transport) crowded() {
	const surely = 2
	idle := 0
	for _, p := range t.pools {
		idle += len(p.idle)
	}
	if idle == 0 || t.places > 0 || t.timedOut < surely {
		return
	}
	t.places = t.open - t.opening
	t.Note(timeline.OfTarget+"it accepted no more than %d connections while "+
		"%d of them were idle: the target seems to serve few connections at a time (give it more threads); "+
		"from then on rlcheck opened no more of them ahead", t.places, idle)
}

// waiting returns the requests that have waited for at least d: their expiries, by connection. It may be nil.
func (t *Transport) waiting(d time.Duration) map[*Conn]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	since := t.clock.Now() - d
	var out map[*Conn]int64
	for c := range t.live {
		s, expires := c.inflight.Load(), c.expires.Load()
		if s == nil || s.state.Load() != sent || expires <= 0 || time.Duration(expires)-t.o.Timeout > since {
			continue
		}
		if out == nil {
			out = map[*Conn]int64{}
		}
		out[c] = expires
	}
	return out
}

// unburden closes the idle connections if requests wait, and returns how many it closed.
func (t *Transport) unburden(waiting map[*Conn]int64) (closed int) {
	if len(waiting) == 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.pools {
		closed += len(p.idle)
		t.trim(p, 0)
	}
	return closed
}

// trim closes the idle connections of p beyond keep, the longest idle first. The lock is held.
func (t *Transport) trim(p *Pool, keep int) {
	for len(p.idle) > keep {
		c := p.idle[0]
		p.idle = p.idle[1:]
		t.discard(c)
	}
}

// quick is the longest time to open a connection at which a stale one is replaced when a request is due.
// Otherwise it is replaced only before a phase.
const quick = 2 * time.Millisecond

// shed closes stale connections of p, which a target with little patience may be about to close. It does so
// only if new ones open quickly, or if a closed connection may be taken for a denial. The lock is held.
func (t *Transport) shed(p *Pool) {
	if time.Duration(t.slowest.Load()) >= quick && !t.o.SilentDenials {
		return
	}
	for len(p.idle) > 0 && t.clock.Now()-p.idle[0].idleSince > stale {
		t.trim(p, len(p.idle)-1)
	}
}

// Keep makes p one of the pools of the current phase: its connections may be idle between two requests.
func (t *Transport) Keep(p *Pool) {
	t.mu.Lock()
	p.kept = true
	t.mu.Unlock()
}

// Retire makes all pools give up their connections as these become free.
func (t *Transport) Retire() {
	t.spares(nil)
	t.retire(nil)
}

// retire makes pools that a phase does not want give up their connections as these become free. want may be
// nil.
func (t *Transport) retire(want map[*Pool]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released.Store(false)
	for _, p := range t.pools {
		p.kept = want[p] > 0
		keep := want[p]
		if t.frugal.Load() {
			keep = 0
		}
		t.trim(p, keep)
	}
}

// Lean is Warm for a phase whose requests may wait for connections that are opened when they are due. spare
// keeps one more connection open than is used. If idle connections keep a target from answering, Lean opens
// none.
func (t *Transport) Lean(want map[*Pool]int, spare bool) {
	if t.spares(nil); spare {
		t.spares(want)
	}
	if t.frugal.Load() {
		t.retire(nil)
		return
	}
	t.warm(want)
}

// others returns how many connections are open beside one that was given up.
func (t *Transport) others() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}
