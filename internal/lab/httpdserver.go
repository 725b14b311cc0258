package lab

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/http2"
	"github.com/rlcheck/rlcheck/internal/load/transport"
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
	server   *http.Server
	listener net.Listener
	done     chan error
}

// ConnectionKey is the context key of the number of the connection, a uint64 from 1.
type ConnectionKey struct{}

// newServer returns a server of HTTP/1.1, and of HTTP/2 without TLS, whose connections keep what they read.
func newServer(h http.Handler) *http.Server {
	var accepted atomic.Uint64
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{
		Protocols: protocols,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			ctx = context.WithValue(ctx, LinesKey{}, c.(*kept).lines)
			return context.WithValue(ctx, ConnectionKey{}, accepted.Add(1))
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateIdle {
				c.(*kept).forget()
			}
		},
		Handler: h, MaxHeaderBytes: maxHeader, IdleTimeout: idleTimeout, ReadHeaderTimeout: headerTimeout,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	http2.Configure(s)
	return s
}

// Listen serves h at addr; "127.0.0.1:0" lets the kernel choose the port. It refuses an address outside of
// the loopback interface, since our targets are made to be attacked.
func Listen(h http.Handler, addr string) (*Server, error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if !tcp.IP.IsLoopback() {
		return nil, fmt.Errorf("listen: address %q: other machines could reach it (write \"127.0.0.1:%d\")",
			addr, tcp.Port)
	}
	l, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return On(l, h), nil
}

// On serves h to the connections that l accepts, on whatever network.
func On(l net.Listener, h http.Handler) *Server {
	s := &Server{listener: keepingListener{l}, done: make(chan error, 1), server: newServer(h)}
	go func() { s.done <- s.server.Serve(s.listener) }()
	return s
}

// PipeNetwork is a network in the process, with the servers of the embedded target. It implements
// trial.Network. The zero value is usable.
type PipeNetwork struct{ transport.Pipes }

// Listen serves h with the servers of the embedded target.
func (n *PipeNetwork) Listen(h http.Handler) (string, func() error, error) {
	s := On(n.Listener(), n.Distant(h))
	return s.URL(), func() error {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // at once
		return s.Close(ctx)
	}, nil
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

// LinesKey is the context key of the header lines of a request as they arrived, a func() []string. net/http
// keeps neither the case of a name nor the spaces around a value. The lines have no line ends. They are those
// of the request itself if its client sends no request before the last one was answered.
type LinesKey struct{}

// keepingListener is a listener whose connections keep what they read.
type keepingListener struct{ net.Listener }

func (l keepingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &kept{Conn: c}, nil
}

// kept is a connection that keeps what was read since the last answer, up to the size of a header block.
type kept struct {
	net.Conn
	mu   sync.Mutex
	read []byte
}

func (c *kept) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	c.read = append(c.read, b[:min(n, maxHeader-len(c.read))]...)
	c.mu.Unlock()
	return n, err
}

// forget begins the next request.
func (c *kept) forget() {
	c.mu.Lock()
	c.read = c.read[:0]
	c.mu.Unlock()
}

// lines returns the header lines of the request that was read last.
func (c *kept) lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, fields, _ := strings.Cut(string(c.read), "\r\n") // after the request line
	fields, _, _ = strings.Cut(fields, "\r\n\r\n")
	return strings.Split(fields, "\r\n")
}

// The statuses of gRPC that a denial may have.
const (
	GRPCExhausted   = 8
	GRPCUnavailable = 14
)

// GRPC answers gRPC requests (Content-Type: application/grpc) in their form. If h admits, the answer has an
// empty message and status 0 in its trailers. If h denies, it has the status denial and a RetryInfo, in one
// header block. h answers any other request. It needs HTTP/2.
func GRPC(h http.Handler, denial int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const grpc = "application/grpc"
		if !strings.HasPrefix(r.Header.Get("Content-Type"), grpc) {
			h.ServeHTTP(w, r)
			return
		}
		told := &unwritten{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(told, r)
		w.Header().Del("Content-Length")
		w.Header().Set("Content-Type", grpc)
		switch told.status {
		case http.StatusOK:
			_, _ = w.Write([]byte{0, 0, 0, 0, 0}) // a client that left is no trouble
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			w.Header().Set("Grpc-Status", strconv.Itoa(denial))
			w.Header().Set("Grpc-Message", "quota exceeded")
			seconds, _ := strconv.Atoi(w.Header().Get("Retry-After")) // a date becomes 0
			w.Header().Set("Grpc-Status-Details-Bin", retryInfo(denial, seconds))
		default:
			w.Header().Set("Grpc-Status", "13")
		}
	})
}

// unwritten takes an answer of which only the header fields are sent.
type unwritten struct {
	http.ResponseWriter
	status int
}

func (u *unwritten) WriteHeader(status int) { u.status = status }

func (u *unwritten) Write(p []byte) (int, error) { return len(p), nil }

// retryInfo returns a google.rpc.Status with a google.rpc.RetryInfo, in the wire format of protocol buffers.
func retryInfo(code, seconds int) string {
	member := func(tag byte, text string) string { return string([]byte{tag<<3 | 2, byte(len(text))}) + text }
	delay := member(1, string(binary.AppendUvarint([]byte{1 << 3}, uint64(max(seconds, 0)))))
	detail := member(1, "type.googleapis.com/google.rpc.RetryInfo") + member(2, delay)
	status := append([]byte{1 << 3, byte(code)}, member(3, detail)...)
	return base64.RawStdEncoding.EncodeToString(status)
}
