package transport

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
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

// Pipes is a network in the process: it connects what dials with what listens. The zero value is usable.
type Pipes struct {
	// Way is how long a request takes to a handler, and an answer back. Without one, 100 us.
	Way time.Duration

	mu        sync.Mutex
	listeners map[string]*pipeListener
	dialled   atomic.Int64
}

// Listen serves h with a plain server of net/http, HTTP/2 without TLS included. stop ends it and all
// connections.
func (n *Pipes) Listen(h http.Handler) (url string, stop func() error, err error) {
	s := &http.Server{Handler: n.Distant(h), Protocols: new(http.Protocols),
		ErrorLog: log.New(io.Discard, "", 0)}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	l := n.Listener()
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	return "http://" + l.Addr().String() + "/", func() error {
		err := s.Close()
		<-served // that it was closed
		return err
	}, nil
}

// Listener returns a listener at a new address of the network.
func (n *Pipes) Listener() net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = map[string]*pipeListener{}
	}
	l := &pipeListener{addr: fmt.Sprintf("127.0.0.1:%d", 1000+len(n.listeners)), conns: make(chan net.Conn),
		done: make(chan struct{})}
	n.listeners[l.addr] = l
	return l
}

// Distant returns h at the end of the way. Without a way, all that happens in virtual time at the same
// instant would have no order.
func (n *Pipes) Distant(h http.Handler) http.Handler {
	way := max(n.Way, 100*time.Microsecond)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(way)
		h.ServeHTTP(w, r)
		time.Sleep(way)
	})
}

// Dial connects to an address that Listen returned.
func (n *Pipes) Dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("dial %s: nobody listens", addr)
	}
	ours, theirs := net.Pipe()
	client := fmt.Sprintf("127.0.0.1:%d", 20000+n.dialled.Add(1)%40000)
	if a, ok := SourceAddress(ctx); ok {
		client = fmt.Sprintf("%s:%d", a, 20000+n.dialled.Load()%40000)
	}
	select {
	case l.conns <- pipe{theirs, l.addr, client}:
		return pipe{ours, client, l.addr}, nil
	case <-l.done:
		return nil, fmt.Errorf("dial %s: closed", addr)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pipeListener is an address of the network.
type pipeListener struct {
	addr  string
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return pipeAddress(l.addr) }

// pipeAddress is the address of a listener or a client: servers want HOST:PORT.
type pipeAddress string

func (pipeAddress) Network() string  { return "tcp" }
func (a pipeAddress) String() string { return string(a) }

// pipe is one end of a pipe with an address.
type pipe struct {
	net.Conn
	local, remote string
}

func (p pipe) LocalAddr() net.Addr              { return pipeAddress(p.local) }
func (p pipe) RemoteAddr() net.Addr             { return pipeAddress(p.remote) }
func (p pipe) SetWriteDeadline(time.Time) error { return nil }
