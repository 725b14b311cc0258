package httpd

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// lean is an HTTP/1.1 server for handlers that answer in one piece and keep nothing of a request. It uses the
// request, the fields and the memory of a connection again for the next request. It costs less than half of
// the processor time of net/http. So a load test does not mostly measure our own target.
type lean struct {
	handler http.Handler

	mu       sync.Mutex
	listener net.Listener
	conns    map[*leanConn]struct{}
	// closing is set under mu.
	closing atomic.Bool
	// gone is closed when the last connection ended after closing began.
	gone chan struct{}
	// accepted counts the connections, and numbers them.
	accepted atomic.Uint64
}

func newLean(h http.Handler) *lean {
	return &lean{handler: h, conns: map[*leanConn]struct{}{}, gone: make(chan struct{})}
}

// Serve accepts connections until the server is closed. Then it returns http.ErrServerClosed.
func (s *lean) Serve(l net.Listener) error {
	s.mu.Lock()
	s.listener = l
	if s.closing.Load() {
		_ = l.Close()
	}
	s.mu.Unlock()
	pause := time.Duration(0)
	for {
		nc, err := l.Accept()
		if err != nil {
			if s.closing.Load() {
				return http.ErrServerClosed
			}
			// No descriptor is free for a moment. Waiting clients are accepted later.
			var passing interface{ Temporary() bool }
			if errors.As(err, &passing) && passing.Temporary() {
				pause = min(max(2*pause, 5*time.Millisecond), time.Second)
				time.Sleep(pause)
				continue
			}
			return err
		}
		pause = 0
		c := newLeanConn(s, nc, s.accepted.Add(1))
		if !s.add(c) {
			_ = nc.Close()
			continue
		}
		go c.serve()
	}
}

// add registers c, so that it can be closed. It reports false if the server is closing already.
func (s *lean) add(c *leanConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

// remove forgets c, which has ended.
func (s *lean) remove(c *leanConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.closing.Load() && len(s.conns) == 0 {
		close(s.gone)
	}
}

// Shutdown stops accepting and ends the connections that wait for a request. It waits until the others have
// answered theirs. If ctx ends first, it returns the error of ctx.
func (s *lean) Shutdown(ctx context.Context) error {
	s.stop(func(c *leanConn) {
		if c.state.CompareAndSwap(connIdle, connEnded) {
			_ = c.conn.Close()
		}
	})
	select {
	case <-s.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends all connections at once, also those with a request.
func (s *lean) Close() error {
	s.stop(func(c *leanConn) { _ = c.conn.Close() })
	<-s.gone
	return nil
}

// stop stops accepting and calls end for every connection.
func (s *lean) stop(end func(*leanConn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing.Load() {
		s.closing.Store(true)
		if s.listener != nil {
			_ = s.listener.Close()
		}
		if len(s.conns) == 0 {
			close(s.gone)
		}
	}
	for c := range s.conns {
		end(c)
	}
}
