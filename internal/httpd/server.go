// Package httpd serves handlers on the loopback interface: by net/http, or by a lean server that costs less
// than half of its processor time, for handlers that answer in one piece.
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
	// idleTimeout is how long a connection is kept for the next request.
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

// engine is what reads requests and writes answers.
type engine interface {
	// Serve accepts connections until the engine is closed, and then returns http.ErrServerClosed.
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

// engineFor returns the lean server for a handler that suits it, and says so by a method AnswersInOnePiece.
// All others may keep requests and answer in parts: they get the server of net/http.
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

// Listen serves h at addr, "127.0.0.1:0" for a port that the kernel chooses. An address that is not of the
// loopback interface is refused: our targets are made to be attacked.
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

// Addr returns the address that the server listens at, with its port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL returns the address as http://HOST:PORT/.
func (s *Server) URL() string { return "http://" + s.Addr() + "/" }

// Close stops accepting, waits until the requests in flight are answered or ctx ends, and then closes all
// connections. It returns what made the server stop earlier, if anything did.
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
