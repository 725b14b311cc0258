package httpd

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// hangUp is the context of all requests of a connection. It ends when the client leaves. It watches for that
// only while somebody waits on Done.
type hangUp struct {
	conn   *leanConn
	number uint64
	gone   chan struct{}
	left   atomic.Bool

	mu sync.Mutex
	// handling tells that a handler runs. watching is closed when the watch has ended; nil without a watch.
	handling bool
	watching chan struct{}
}

// ConnectionKey is the context key of the number of the connection, a uint64 from 1.
type ConnectionKey struct{}

// Deadline returns no deadline.
func (*hangUp) Deadline() (time.Time, bool) { return time.Time{}, false }

// OddLinesKey is the context key of the header lines that are not written as usual, a []string.
type OddLinesKey struct{}

// Value returns the number of the connection or the odd lines of its request, by key.
func (h *hangUp) Value(key any) any {
	switch key {
	case ConnectionKey{}:
		return h.number
	case OddLinesKey{}:
		return h.conn.head.odd
	}
	return nil
}

// Err returns context.Canceled once the client was seen to leave.
func (h *hangUp) Err() error {
	if h.left.Load() {
		return context.Canceled
	}
	return nil
}

// Done starts to watch whether the client leaves, while a handler runs.
func (h *hangUp) Done() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.handling && h.watching == nil && !h.left.Load() {
		h.watching = make(chan struct{})
		go h.watch(h.watching)
	}
	return h.gone
}

// watch reads until something arrives or nothing more can. What arrives is the beginning of the next request.
func (h *hangUp) watch(ended chan<- struct{}) {
	defer close(ended)
	c := h.conn
	if c.to-c.from >= maxHeader {
		return
	}
	if err := c.fill(); err != nil && !isTimeout(err) {
		h.left.Store(true)
		close(h.gone)
	}
}

// begin tells that a handler begins.
func (h *hangUp) begin() {
	h.mu.Lock()
	h.handling = true
	h.mu.Unlock()
}

// end tells that the handler has returned. After it only the connection reads.
func (h *hangUp) end() {
	h.mu.Lock()
	watching := h.watching
	h.handling, h.watching = false, nil
	h.mu.Unlock()
	if watching == nil {
		return
	}
	// An error of these calls shows at the next read.
	_ = h.conn.conn.SetReadDeadline(time.Unix(1, 0))
	<-watching
	h.conn.arm(idleTimeout)
}
