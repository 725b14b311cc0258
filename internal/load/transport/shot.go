package transport

import (
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// The states of a shot. Two goroutines read and write its connection. Before one of them sends a shot, or
// ends one that is not sent yet, it must succeed in changing the state.
const (
	_ int32 = iota // planned
	// taken: the shot has a connection, and nothing is written.
	taken
	// armed: all but the last two bytes of the header block are written.
	armed
	// sent: the write that completes the header block has begun.
	sent
	// lost: its connection ended, or answered, before the shot was sent.
	lost
)

// Shot is one request that is planned, waiting or in flight. When it is over it may be used again.
type Shot struct {
	// Obs receives the answer. The goroutine that ends the shot writes it; the driver writes it before it
	// submits the shot.
	Obs     *timeline.Observation
	Request *MessageRequest
	Pool    *Pool
	Owner   Driver
	// Client is the number of the client that sends the shot, for shapes with clients.
	Client int
	state  atomic.Int32
	// armedAt is the clock before the partial write of a gate, sentAt the clock before the completing write.
	// tried is when the shot was submitted.
	armedAt, sentAt, tried time.Duration
	// Entry is the shot's identity in the journal.
	Entry JournalRequest
	// gated tells that armedAt is set.
	gated bool
	// over tells that Obs is an observation. The goroutine that ends the shot sets it; it is read after all
	// shots have ended.
	over bool
}

// Over tells whether Obs is an observation. It is valid when all shots have ended.
func (s *Shot) Over() bool { return s.over }

// Gated tells whether s was armed and not submitted since. Then its lateness is that of its gate.
func (s *Shot) Gated() bool { return s.gated }

// Armed returns the clock before the partial write. ok is false unless the shot was gated and answered.
func (s *Shot) Armed() (at time.Duration, ok bool) {
	return s.armedAt, s.gated && s.over && s.Obs.Answered
}

// claim is called by the reader that is about to end s. early tells that s was still behind its gate, which
// will not open for it any more. mine tells that the caller may end s.
func (s *Shot) claim() (early, mine bool) {
	if s.state.CompareAndSwap(armed, lost) {
		return true, true
	}
	return false, s.state.Load() == sent
}

// early tells whether s ended before its gate opened.
func (s *Shot) early() bool { return s.gated && s.state.Load() != sent }

// began returns the left end of the interval for an answer whose first byte was read at first, 0 for no
// answer. That is the completing write. It is the partial write of a gated shot if no answer came, or if one
// came before the completing write. It is the submission if nothing was ever written.
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

// Driver is told what becomes of the shots it submitted. Each shot ends with exactly one call of one of the
// two methods.
type Driver interface {
	// Ended is called on the goroutine that ended s, which is an observation now. c is a connection that is
	// ready for another request, or nil. The driver sends on c or releases it.
	Ended(s *Shot, c *Conn)
	// Dropped is called for a shot that will not be sent.
	Dropped(s *Shot)
}
