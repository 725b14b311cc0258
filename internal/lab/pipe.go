package lab

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
)

// PipeNetwork connects what dials with what listens. It implements trial.Network. The zero value is usable.
type PipeNetwork struct {
	// Way is how long a request takes to a handler, and an answer back. Without one, 100 us.
	Way time.Duration

	mu        sync.Mutex
	listeners map[string]*listener
	dialled   atomic.Int64
}

// Listen serves h with the servers of the embedded target.
func (n *PipeNetwork) Listen(h http.Handler) (string, func() error, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = map[string]*listener{}
	}
	l := &listener{addr: fmt.Sprintf("127.0.0.1:%d", 1000+len(n.listeners)), conns: make(chan net.Conn),
		done: make(chan struct{})}
	n.listeners[l.addr] = l
	// Without a way, all that happens in virtual time at the same instant would have no order.
	s := On(l, distant{h, max(n.Way, 100*time.Microsecond)})
	stop := func() error {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // at once
		return s.Close(ctx)
	}
	return "http://" + l.addr + "/", stop, nil
}

// distant is a handler with a way to it.
type distant struct {
	http.Handler
	way time.Duration
}

func (d distant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(d.way)
	d.Handler.ServeHTTP(w, r)
	time.Sleep(d.way)
}

// Dial connects to an address that Listen returned.
func (n *PipeNetwork) Dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("dial %s: nobody listens", addr)
	}
	ours, theirs := net.Pipe()
	client := fmt.Sprintf("127.0.0.1:%d", 20000+n.dialled.Add(1)%40000)
	if a, ok := transport.SourceAddress(ctx); ok {
		client = fmt.Sprintf("%s:%d", a, 20000+n.dialled.Load()%40000)
	}
	select {
	case l.conns <- patient{theirs, l.addr, client}:
		return patient{ours, client, l.addr}, nil
	case <-l.done:
		return nil, fmt.Errorf("dial %s: closed", addr)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct {
	addr  string
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *listener) Addr() net.Addr { return address(l.addr) }

// address is the address of a listener or a client: servers want HOST:PORT.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// patient is one end of a pipe with an address.
type patient struct {
	net.Conn
	local, remote string
}

func (p patient) LocalAddr() net.Addr              { return address(p.local) }
func (p patient) RemoteAddr() net.Addr             { return address(p.remote) }
func (p patient) SetWriteDeadline(time.Time) error { return nil }
