package transport

import (
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/journal"
	"github.com/rlcheck/rlcheck/internal/load/message"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// The states of a shot. Its connection is read and written by two goroutines, so whoever wants to end a shot
// that is not yet sent, or to send it, must be the one to change its state.
const (
	_ int32 = iota // planned
	// taken: it has a connection, nothing is written.
	taken
	// armed: all but the last two bytes of the header block are written.
	armed
	// sent: the write that completes the header block has begun.
	sent
	// lost: its connection ended, or answered, before it was sent.
	lost
)

// Shot is one request on its way: planned, waiting, in flight. When it is over it may be used again.
type Shot struct {
	// Obs is where the answer goes. Written by the goroutine that ends the shot, and before it is submitted.
	Obs     *timeline.Observation
	Request *message.Request
	Pool    *Pool
	Owner   Driver
	// Client is the number of the client that sends it, for the shapes that have clients.
	Client int
	state  atomic.Int32
	// armedAt and sentAt are the clock before the partial write of a gate and before the completing write;
	// tried is when the shot was submitted.
	armedAt, sentAt, tried time.Duration
	// Entry stands for it in the journal.
	Entry journal.Request
	// gated tells that armedAt is set.
	gated bool
	// over tells that Obs is an observation: set by the goroutine that ends the shot, read after all have
	// ended.
	over bool
}

// Over tells whether Obs is an observation. It is asked when all shots have ended.
func (s *Shot) Over() bool { return s.over }

// Gated tells whether s was armed, and not submitted since: then its lateness is that of its gate.
func (s *Shot) Gated() bool { return s.gated }

// Armed returns the clock before the partial write of a shot that was answered, if it was gated.
func (s *Shot) Armed() (at time.Duration, ok bool) {
	return s.armedAt, s.gated && s.over && s.Obs.Answered
}

// claim is called by the reader that is about to end s. It reports whether s was still behind its gate, which
// will not open for it now, and whether s is the caller's to end.
func (s *Shot) claim() (early, mine bool) {
	if s.state.CompareAndSwap(armed, lost) {
		return true, true
	}
	return false, s.state.Load() == sent
}

// early tells whether s is over before its gate opened.
func (s *Shot) early() bool { return s.gated && s.state.Load() != sent }

// began returns the left end of the interval for an answer whose first byte was read at first: the release of
// the gate, or its partial write where the target answered before the release.
func (s *Shot) began(first time.Duration) time.Duration {
	switch {
	case s.state.Load() != sent && !s.gated:
		return s.tried
	case s.gated && (s.state.Load() != sent || first < s.sentAt):
		return s.armedAt
	default:
		return s.sentAt
	}
}

// Driver is told what becomes of the shots it submitted; each ends with exactly one of the two.
type Driver interface {
	// Ended is called on the goroutine that ended s, which is an observation now. c is the connection that is
	// ready for another request, or nil; the driver sends on it or gives it back.
	Ended(s *Shot, c *Conn)
	// Dropped is called for a shot that will not be sent.
	Dropped(s *Shot)
}
