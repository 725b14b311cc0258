package transport

import (
	"context"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/pacing"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A target with a thread for each connection answers nobody while connections without a request hold its
// threads:
//
//	threads      [idle][idle] ... [idle]      all taken
//	waiting      request, request             no thread is left to read them
//
// So connections are opened when a phase needs them, those that no request of the phase needs are closed,
// and where requests wait for long while connections idle, the idle ones are closed.

const (
	// hush is how long a request may wait for its answer while connections idle, before the idle ones are
	// closed; hushGate the same when the last group of a gate is released: nothing else of its phase needs
	// them.
	hush     = time.Second
	hushGate = 100 * time.Millisecond
	// relieved is how soon after that the answers come which the closing made possible.
	relieved = 100 * time.Millisecond
	// listens is how often the recorder looks for requests that wait.
	listens = 25 * time.Millisecond
)

// relief closes idle connections where requests wait. It belongs to one goroutine.
type relief struct {
	// waiting are the requests that had waited for long at the look before: the expiry of each, by its
	// connection. moved is when one of them was last answered, though nothing had been closed for it.
	waiting map[*Conn]int64
	moved   time.Duration
	// held are those that waited when connections were closed, at the clock at; nil where nothing was, or
	// its effect is known.
	held map[*Conn]int64
	at   time.Duration
	// closed is how many connections were closed, quiet how long the requests had waited at least.
	closed int
	quiet  time.Duration
	// helped counts how often answers came as soon as connections were closed; next is when to close some
	// again.
	helped int
	next   time.Duration
}

// relieve looks for requests that wait until ctx ends.
func (t *Transport) relieve(ctx context.Context) {
	x := relief{moved: -relieved}
	for pacing.Rest(ctx, listens, nil) {
		if t.released.Load() {
			t.unburden(t.waiting(hushGate))
			continue
		}
		x.look(t)
	}
}

// look closes the idle connections where requests wait for long and none of those is answered. Where that
// helps twice, the target serves few connections at a time, and none is left idle from then on. The second
// time it waits half as long again: answers that are slow for another reason, at even times, come soon
// after one of the two closings only.
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

// over counts the requests that were answered since they waited.
func over(waiting map[*Conn]int64) int {
	n := 0
	for c, was := range waiting {
		if is := c.expires.Load(); is != was && is != expired {
			n++
		}
	}
	return n
}

// helps counts a closing that several answers came after at once; the second is enough.
func (x *relief) helps(t *Transport) {
	x.next = 0
	if x.helped++; x.helped < 2 || t.frugal.Swap(true) {
		return
	}
	t.Note(timeline.OfTarget+"requests waited for %v while %d connections were idle, and were answered "+
		"as soon as those were closed: the target seems to serve few connections at a time, such as "+
		"one for each thread (give it more threads); from then on rlcheck left none idle", x.quiet, x.closed)
}

// waiting returns the requests that have waited for d at least: their expiries, by their connections.
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

// unburden closes the idle connections, if requests wait, and returns how many.
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

// trim closes the idle connections of p beyond keep, those idle for longest first. The lock is held.
func (t *Transport) trim(p *Pool, keep int) {
	for len(p.idle) > keep {
		c := p.idle[0]
		p.idle = p.idle[1:]
		t.discard(c)
	}
}

// quick is how fast connections must open so that a stale one is replaced when a request is due, not only
// before a phase.
const quick = 2 * time.Millisecond

// shed closes the connections of p that a target with little patience may be about to close, where new ones
// open quickly. The lock is held.
func (t *Transport) shed(p *Pool) {
	if time.Duration(t.slowest.Load()) >= quick {
		return
	}
	for len(p.idle) > 0 && t.clock.Now()-p.idle[0].idleSince > stale {
		t.trim(p, len(p.idle)-1)
	}
}

// Keep makes p one of the pools of the phase that runs: its connections may idle between two requests.
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
		if t.frugal.Load() {
			t.trim(p, 0)
			continue
		}
		t.trim(p, want[p])
	}
}

// Lean is Warm for a phase whose requests can do with connections that are opened when they are due; spare:
// one more than is used is kept open. Where idle connections hold up others, none is opened before.
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

// others is how many connections are open beside one that was given up.
func (t *Transport) others() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}
