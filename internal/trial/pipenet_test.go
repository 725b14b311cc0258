package trial

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/options"
)

// pipeNet is a network in memory: connections are pairs of net.Pipe, so that everything runs in the virtual
// time of testing/synctest.
type pipeNet struct {
	mu        sync.Mutex
	listeners map[string]*pipeListener
	dialled   atomic.Int64
}

func newPipeNet() *pipeNet { return &pipeNet{listeners: map[string]*pipeListener{}} }

func (n *pipeNet) Listen(h http.Handler) (string, func() error, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &pipeListener{addr: fmt.Sprintf("127.0.0.1:%d", 1000+len(n.listeners)), conns: make(chan net.Conn),
		done: make(chan struct{})}
	n.listeners[l.addr] = l
	s := &http.Server{Handler: distant{h}}
	go func() { _ = s.Serve(l) }()
	return "http://" + l.addr + "/", s.Close, nil
}

// distant is a handler with a way to it: without one, all that happens in virtual time at the same instant
// would have no order.
type distant struct{ http.Handler }

func (d distant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(100 * time.Microsecond)
	d.Handler.ServeHTTP(w, r)
	time.Sleep(100 * time.Microsecond)
}

func (n *pipeNet) Dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("dial %s: nobody listens", addr)
	}
	ours, theirs := net.Pipe()
	client := fmt.Sprintf("127.0.0.1:%d", 20000+n.dialled.Add(1)%40000)
	if a, ok := options.SourceAddress(ctx); ok {
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
func (l *pipeListener) Addr() net.Addr { return pipeAddr(l.addr) }

// pipeAddr is the address of a listener or a client: servers want HOST:PORT.
type pipeAddr string

func (pipeAddr) Network() string  { return "tcp" }
func (a pipeAddr) String() string { return string(a) }

// patient is one end of a pipe with an address.
type patient struct {
	net.Conn
	local, remote string
}

func (p patient) LocalAddr() net.Addr              { return pipeAddr(p.local) }
func (p patient) RemoteAddr() net.Addr             { return pipeAddr(p.remote) }
func (p patient) SetWriteDeadline(time.Time) error { return nil }
