package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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

const (
	// maxHeader is the most bytes of an answer up to the end of its header block, with interim answers.
	maxHeader = 64 << 10
	// maxBody is the most bytes of a body that are read. A longer body costs its connection.
	maxBody = 1 << 20
	// expired marks a connection that Watch closed.
	expired = -1
)

var (
	errTooLarge = errors.New("more bytes than rlcheck reads of an answer")
	errUnasked  = errors.New("bytes came that no request had asked for")
	// errUnanswered ends a stream that was cut.
	errUnanswered = errors.New("a request was not answered")
)

// intake reads at most left bytes from a connection. It remembers when it last got some, and the error that
// ended it.
type intake struct {
	from  io.Reader
	clock Clock
	left  int
	last  time.Duration
	err   error
}

func (in *intake) Read(p []byte) (int, error) {
	if in.left <= 0 {
		return 0, errTooLarge
	}
	if len(p) > in.left {
		p = p[:in.left]
	}
	n, err := in.from.Read(p)
	if n > 0 {
		in.last = in.clock.Now()
	}
	in.left -= n
	in.err = err
	return n, err
}

// Conn is one connection. An event loop (reading.go) or a goroutine reads it all the time, so it notices at
// once when the target closes it.
//
// Over HTTP/2 it is one stream of a link, and the link is read. link and slot are nil for HTTP/1.1, nc to br
// for HTTP/2.
type Conn struct {
	t    *Transport
	pool *Pool
	link *link
	*slot
	// nc is written and read, raw is closed. They are the same without TLS.
	nc, raw net.Conn
	// held is both nc and raw of a connection that an event loop reads, or once read. loop is that event
	// loop. Both are nil for other connections.
	held *LoopConn
	loop *reading
	in   intake
	br   *bufio.Reader
	// inflight is the shot that the next answer belongs to; nil for an idle connection. Whoever takes the
	// connection sets it under Transport.mu; the reader may set it between two requests. The reader clears
	// it.
	inflight atomic.Pointer[Shot]
	// expires is the clock at which the request in flight times out; 0 for none.
	expires atomic.Int64
	// posted is the clock before the last write of the end of a header block, negative if it failed.
	posted atomic.Int64
	// heard is what reached found. It belongs to the reader.
	heard bool
	// served counts answers. first is the left end of the first answer's interval. Both belong to the
	// reader.
	served int
	first  time.Duration
	// scratch is where the fields of an answer are gathered. It belongs to the reader.
	scratch timeline.Fields
	// opening has the first bytes that arrived on the connection; known is how many.
	opening [9]byte
	known   int
	// idleSince (it could take a request), idleMax (0: no limit) and dead are guarded by Transport.mu.
	idleSince, idleMax time.Duration
	dead               bool
	// bodied receives the result of writing a large body.
	bodied chan error
}

// close closes the connection. It never waits.
func (c *Conn) close() {
	if c.link != nil {
		c.link.leave(c)
		return
	}
	c.raw.Close()
}

// hangUp makes the reader end what is in flight. It never waits.
func (c *Conn) hangUp() {
	if c.link != nil {
		c.cut.Store(true)
		c.link.h2.Wake()
		return
	}
	c.raw.Close()
}

// send writes the request of s, for which c was taken. One goroutine at a time calls it. After the write s
// may be over.
func (c *Conn) send(s *Shot) {
	if c.link != nil {
		c.link.send([]Loaded{{c, s}})
		return
	}
	now := c.t.clock.Now()
	s.sentAt = now
	req := s.Request
	var body chan error
	if req.Rest != nil {
		body = make(chan error, 1)
		c.bodied = body
	}
	if !s.state.CompareAndSwap(taken, sent) {
		c.t.again(s)
		return
	}
	c.expires.Store(int64(now + c.t.o.Timeout))
	c.t.sent.Add(1)
	c.t.journal.Sent(&s.Entry, &s.Obs.Arrival, s.gated, now)
	c.write(req.Head, now)
	if body != nil {
		c.follow(req.Rest, body)
	}
}

// arm writes all of the request but the last two bytes of its header block. It reports false if the
// connection ended before.
//
// On a stream it writes nothing: all requests of its link leave in one write. No other frame may come within
// a header block, neither that of another stream nor a PING (RFC 9113 section 6.10). Behind a whole block a
// PING would tell that the target has read it, but by then its limiter may have decided.
//
// It writes twice, so that the kernel of the target acknowledges now. A kernel that owes an acknowledgement
// for a single segment sends it with the next read (Linux, tcp_measure_rcv_mss, ICSK_ACK_PUSHED2). That read
// would come when the gate has opened, and the acknowledgement costs the target some 3 us. With one segment,
// the last of 100 requests arrived a third later.
func (c *Conn) arm(s *Shot) bool {
	if c.link != nil {
		return true
	}
	now := c.t.clock.Now()
	s.armedAt, s.gated = now, true
	if s.Request.Rest != nil {
		c.bodied = make(chan error, 1)
	}
	cut := s.Request.Head[:s.Request.Cut]
	if !s.state.CompareAndSwap(taken, armed) {
		return false
	}
	// A gate may stay closed for some time. The release sets the time-out that counts.
	c.expires.Store(int64(now + c.t.o.Timeout + time.Minute))
	c.t.sent.Add(1)
	c.t.journal.Sent(&s.Entry, &s.Obs.Arrival, s.gated, now)
	line := bytes.IndexByte(cut, '\n') + 1
	_, _ = c.nc.Write(cut[:line])
	_, _ = c.nc.Write(cut[line:])
	return true
}

// fire completes an armed request, unless its connection has ended or answered. It returns the clock before
// the write and whether it wrote.
func (c *Conn) fire(s *Shot) (time.Duration, bool) {
	req, body := s.Request, c.bodied
	now := c.t.clock.Now()
	s.sentAt = now
	if !s.state.CompareAndSwap(armed, sent) {
		return 0, false
	}
	c.expires.Store(int64(now + c.t.o.Timeout))
	c.write(req.Head[req.Cut:], now)
	if req.Rest != nil {
		c.follow(req.Rest, body)
	}
	return now, true
}

// write writes the end of a header block. An error of the write ends the read too. So the reader decides what
// became of the request.
func (c *Conn) write(b []byte, now time.Duration) {
	_, err := c.nc.Write(b)
	c.post(now, err)
}

// post notes that a write that began at now has returned.
func (c *Conn) post(now time.Duration, err error) {
	if err != nil {
		now = -now
	}
	c.posted.Store(int64(now))
}

// follow writes a large body from a goroutine.
func (c *Conn) follow(rest []byte, body chan<- error) {
	c.t.wg.Go(func() {
		_, err := c.nc.Write(rest)
		body <- err
	})
}

// serve reads answers until the connection ends.
func (c *Conn) serve() {
	defer c.t.wg.Done()
	defer c.raw.Close()
	for {
		c.in.left = maxHeader - c.br.Buffered() // an event loop may have read some bytes
		_, err := c.br.Peek(1)
		c.hear()
		s := c.inflight.Load()
		if err != nil || s == nil || s.state.Load() == taken {
			if err == nil {
				c.surplus(another(c.buffered()))
			}
			c.end(err)
			return
		}
		if !c.receive(s) {
			return
		}
	}
}

// end gives up a connection that ended. err is nil if bytes arrived that no request had asked for.
func (c *Conn) end(err error) {
	c.heard = c.t.o.SilentDenials && c.reached(err) // before it is closed
	s := c.t.forget(c)
	if s == nil || s.state.CompareAndSwap(taken, lost) {
		return // nothing was written; a sender that has just taken c will notice
	}
	if err == nil {
		err = errUnasked
	}
	if early, mine := s.claim(); mine {
		c.fail(s, early, err)
	}
}

// fail ends s, which was claimed, without an answer. early tells that its gate had not opened.
func (c *Conn) fail(s *Shot, early bool, err error) {
	if early && c.t.aborted.Load() {
		// The gate did not open: the target never had a whole request.
		c.t.sent.Add(-1)
		s.Owner.Dropped(s)
		return
	}
	w := CauseMalformed
	switch {
	case c.t.aborted.Load():
		w = CauseInterrupted
	case c.expires.Load() == expired:
		w = CauseTimeout
		err = fmt.Errorf("no answer within %v, with %d other %s open", c.t.o.Timeout, c.t.others(),
			carriers(c.t.o))
	case errors.As(err, new(told)):
		w = CauseWord(err)
	case c.served == 0 && CauseProtocol(c.opening[:c.known]) != "":
		w = CauseProtocol(c.opening[:c.known])
	case c.link != nil:
		w = CauseWord(err)
	case errors.Is(err, errUnasked) && c.served == 0:
		err = fmt.Errorf("%w: %q", errUnasked, c.opening[:c.known])
	case errors.Is(err, errUnasked):
		w = CauseClosed
	case errors.Is(err, errTooLarge):
		w = CauseTooLarge
	case c.in.err != nil:
		w = CauseWord(c.in.err)
		if c.served > 0 && c.in.left == maxHeader && (w == CauseEOF || w == CauseReset) {
			w = CauseClosed
		}
	}
	if c.t.o.SilentDenials && timeline.NoAnswer(w) {
		if early {
			c.tooEarly()
		} else if c.denies(err) {
			c.deny(s)
			return
		}
	}
	c.t.fail(s, w, err)
}

// deny ends s as a denial, if its connection ended without an answer and the user declared such denials
// (SilentDenials). The target decided before the reader noticed, so the interval ends now.
func (c *Conn) deny(s *Shot) {
	now := c.t.clock.Now()
	s.Obs.Sent, s.Obs.FirstByte = s.began(now), now
	s.Obs.Outcome, s.Obs.Answered = timeline.Denied, true
	c.t.ended(s, nil)
}

// fail ends s, for which no answer came.
func (t *Transport) fail(s *Shot, w string, err error) {
	if s.state.Load() == lost && !s.gated {
		t.sent.Add(1)
	}
	s.Obs.Sent = s.began(0)
	s.Obs.Outcome, s.Obs.Answered, s.Obs.Error = timeline.Unknown, false, w
	t.remember(w, err)
	t.ended(s, nil)
}

// ended counts s, which is over, and tells its driver. c is ready for another request, or nil.
func (t *Transport) ended(s *Shot, c *Conn) {
	s.over = true
	t.counts[s.Obs.Outcome].Add(1)
	if st := s.Obs.Status; (st == http.StatusNotFound || st == http.StatusGone) &&
		s.Obs.Outcome == timeline.Unknown {
		t.astray.Add(1)
	}
	t.journal.Ended(&s.Entry, s.Obs, s.early())
	s.Owner.Ended(s, c)
}
