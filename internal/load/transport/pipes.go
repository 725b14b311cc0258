package transport

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

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
