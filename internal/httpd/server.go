// Package httpd serves handlers on the loopback interface, with net/http or with a lean server. The lean
// server suits handlers that answer in one piece. It costs less than half of the processor time of net/http.
package httpd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/http2"
)

// Limits of the server.
const (
	// maxHeader is the most bytes of a header block.
	maxHeader = 64 << 10
	// idleTimeout is how long a connection stays open for the next request.
	idleTimeout = 2 * time.Minute
	// headerTimeout is how long a header block may take once it has begun.
	headerTimeout = 10 * time.Second
)

// Server is an HTTP server that has begun to accept connections.
type Server struct {
	server   engine
	listener net.Listener
	done     chan error
}

// engine reads requests and writes answers.
type engine interface {
	// Serve accepts connections until the engine is closed, and then returns http.ErrServerClosed.
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

// engineFor returns the lean server for a handler with a method AnswersInOnePiece. Other handlers may keep
// requests and answer in parts, so they get the server of net/http.
func engineFor(h http.Handler) engine {
	if _, suits := h.(interface{ AnswersInOnePiece() }); suits {
		return newLean(h)
	}
	var accepted atomic.Uint64
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{
		Protocols: protocols,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, ConnectionKey{}, accepted.Add(1))
		},
		Handler: h, MaxHeaderBytes: maxHeader, IdleTimeout: idleTimeout, ReadHeaderTimeout: headerTimeout,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	http2.Configure(s)
	return s
}

// ListenOptions say where a server may listen.
type ListenOptions struct {
	// AnyAddress allows addresses that other machines can reach.
	AnyAddress bool
}

// Listen serves h at addr; "127.0.0.1:0" lets the kernel choose the port. It refuses an address outside of
// the loopback interface, since our targets are made to be attacked.
func Listen(h http.Handler, addr string) (*Server, error) { return ListenOptions{}.Listen(h, addr) }

// Listen serves h at addr.
func (o ListenOptions) Listen(h http.Handler, addr string) (*Server, error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if !o.AnyAddress && !tcp.IP.IsLoopback() {
		return nil, fmt.Errorf("listen: address %q: other machines could reach it (write \"127.0.0.1:%d\")",
			addr, tcp.Port)
	}
	listener, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{listener: listener, done: make(chan error, 1), server: engineFor(h)}
	go func() { s.done <- s.server.Serve(listener) }()
	return s, nil
}

// Addr returns the address, with its port, that the server listens at.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL returns the address as http://HOST:PORT/.
func (s *Server) URL() string { return "http://" + s.Addr() + "/" }

// Close stops accepting and waits until the requests in flight are answered, or ctx ends. It then closes all
// connections. It returns the error that stopped the server earlier, if any.
func (s *Server) Close(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = s.server.Close()
	}
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
