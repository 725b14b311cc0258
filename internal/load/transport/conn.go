package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/eventloop"
	"github.com/rlcheck/rlcheck/internal/load/cause"
	"github.com/rlcheck/rlcheck/internal/load/pacing"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	// maxHeader is the most bytes of an answer up to the end of its header block, interim answers included.
	maxHeader = 64 << 10
	// maxBody is the most bytes of a body that are read; a longer one costs its connection.
	maxBody = 1 << 20
	// expired marks a connection that the watchdog closed.
	expired = -1
)

var (
	errTooLarge = errors.New("more bytes than rlcheck reads of an answer")
	errUnasked  = errors.New("bytes came that no request had asked for")
	// errUnanswered ends a stream that was cut.
	errUnanswered = errors.New("a request was not answered")
)

// intake reads from a connection, at most left bytes, and remembers when it last got some and what ended it.
type intake struct {
	from  io.Reader
	clock pacing.Clock
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

// Conn is one connection. An event loop (reading.go) or a goroutine reads it all the time, so a target that
// closes it is noticed at once.
//
// With HTTP/2 it is one stream of a link, and that is read: link and slot are nil for HTTP/1.1, nc to br for
// HTTP/2.
type Conn struct {
	t    *Transport
	pool *Pool
	link *link
	*slot
	// nc is what is written and read; raw is what is closed: the same without TLS.
	nc, raw net.Conn
	// held is both of a connection that an event loop reads, or once did, and loop what reads it; nil for
	// others.
	held *eventloop.Conn
	loop *reading
	in   intake
	br   *bufio.Reader
	// inflight is the shot that the next answer belongs to, nil when idle. Set under Transport.mu by whoever
	// takes the connection, or by the reader itself between two requests; cleared by the reader.
	inflight atomic.Pointer[Shot]
	// expires is the clock at which the request in flight times out, 0 for none.
	expires atomic.Int64
	// served counts answers, second is the left end of the second one's interval; the reader's.
	served int
	second time.Duration
	// scratch is where the fields of an answer are gathered; the reader's.
	scratch timeline.Fields
	// opening is what came first on the connection, of which bytes are known.
	opening [9]byte
	known   int
	// idleSince, idleMax (0: for ever) and dead are guarded by Transport.mu.
	idleSince, idleMax time.Duration
	dead               bool
	// wrote gets the result of writing a large body.
	wrote chan error
}

// close gives the connection back to the system. It never waits.
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

// send writes the request of s, for which c was taken. Called by one goroutine at a time; after the write s
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
		c.wrote = body
	}
	if !s.state.CompareAndSwap(taken, sent) {
		c.t.again(s)
		return
	}
	c.expires.Store(int64(now + c.t.o.Timeout))
	c.t.sent.Add(1)
	c.t.journal.Sent(&s.Entry, &s.Obs.Arrival, s.gated, now)
	// An error of the write ends the read too: the reader tells what became of the request.
	_, _ = c.nc.Write(req.Head)
	if body != nil {
		c.follow(req.Rest, body)
	}
}

// arm writes all of the request but the last two bytes of its header block. It reports false where the
// connection ended before. Of a stream nothing is written: all requests of its link leave in one write.
//
// It writes twice. A kernel that owes an acknowledgement for one segment sends it with the next read (Linux,
// tcp_measure_rcv_mss, ICSK_ACK_PUSHED2), which costs the target some 3 us. With two segments it is sent now,
// with one it would be when the gate has opened: the last of 100 requests arrived a third later.
func (c *Conn) arm(s *Shot) bool {
	if c.link != nil {
		return true
	}
	now := c.t.clock.Now()
	s.armedAt, s.gated = now, true
	if s.Request.Rest != nil {
		c.wrote = make(chan error, 1)
	}
	cut := s.Request.Head[:s.Request.Cut]
	if !s.state.CompareAndSwap(taken, armed) {
		return false
	}
	// A gate may stay closed for some time; the release sets the time-out that counts.
	c.expires.Store(int64(now + c.t.o.Timeout + time.Minute))
	c.t.sent.Add(1)
	c.t.journal.Sent(&s.Entry, &s.Obs.Arrival, s.gated, now)
	line := bytes.IndexByte(cut, '\n') + 1
	_, _ = c.nc.Write(cut[:line])
	_, _ = c.nc.Write(cut[line:])
	return true
}

// fire completes an armed request, unless its connection ended or answered meanwhile. It returns the clock
// before the write and whether there was one.
func (c *Conn) fire(s *Shot) (time.Duration, bool) {
	req, body := s.Request, c.wrote
	now := c.t.clock.Now()
	s.sentAt = now
	if !s.state.CompareAndSwap(armed, sent) {
		return 0, false
	}
	c.expires.Store(int64(now + c.t.o.Timeout))
	_, _ = c.nc.Write(req.Head[req.Cut:])
	if req.Rest != nil {
		c.follow(req.Rest, body)
	}
	return now, true
}

// follow writes a large body from a goroutine.
func (c *Conn) follow(rest []byte, body chan<- error) {
	c.t.wg.Add(1)
	go func() {
		defer c.t.wg.Done()
		_, err := c.nc.Write(rest)
		body <- err
	}()
}

// serve reads answers until the connection ends.
func (c *Conn) serve() {
	defer c.t.wg.Done()
	defer c.raw.Close()
	for {
		c.in.left = maxHeader - c.br.Buffered() // bytes that an event loop has read
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

// end gives up a connection that ended, or on which bytes came that nobody had asked for (err is nil then).
func (c *Conn) end(err error) {
	s := c.t.forget(c)
	if s == nil || s.state.CompareAndSwap(taken, lost) {
		return // nothing was written; a sender that has just taken c will see it
	}
	if err == nil {
		err = errUnasked
	}
	if early, mine := s.claim(); mine {
		c.fail(s, early, err)
	}
}

// fail ends s, which was claimed, without an answer; early tells that its gate had not opened.
func (c *Conn) fail(s *Shot, early bool, err error) {
	if early && c.t.aborted.Load() {
		// The gate did not open: the target never had a whole request.
		c.t.sent.Add(-1)
		s.Owner.Dropped(s)
		return
	}
	w := cause.Malformed
	switch {
	case c.t.aborted.Load():
		w = cause.Interrupted
	case c.expires.Load() == expired:
		w = cause.Timeout
		err = fmt.Errorf("no answer within %v, with %d other %s open", c.t.o.Timeout, c.t.others(),
			carriers(c.t.o))
	case errors.Is(err, errWantsTLS):
		w = cause.WantsTLS
	case c.served == 0 && cause.Protocol(c.opening[:c.known]) != "":
		w = cause.Protocol(c.opening[:c.known])
	case c.link != nil:
		w = cause.Word(err)
	case errors.Is(err, errUnasked) && c.served == 0:
		err = fmt.Errorf("%w: %q", errUnasked, c.opening[:c.known])
	case errors.Is(err, errUnasked):
		w = cause.Closed
	case errors.Is(err, errTooLarge):
		w = cause.TooLarge
	case c.in.err != nil:
		w = cause.Word(c.in.err)
		if c.served > 0 && c.in.left == maxHeader && (w == cause.EOF || w == cause.Reset) {
			w = cause.Closed
		}
	}
	if c.t.o.SilentDenials && timeline.NoAnswer(w) {
		if early {
			c.tooEarly()
		} else if c.denies(err) {
			c.t.deny(s)
			return
		}
	}
	c.t.fail(s, w, err)
}

// deny ends s, whose connection ended without an answer, as a denial: one that the target declares to be
// so. It was decided before that was seen.
func (t *Transport) deny(s *Shot) {
	now := t.clock.Now()
	s.Obs.Sent, s.Obs.FirstByte = s.began(now), now
	s.Obs.Outcome, s.Obs.Answered = timeline.Denied, true
	t.ended(s, nil)
}

// fail ends s, which no answer came to.
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
	t.journal.Ended(&s.Entry, s.Obs, s.early())
	s.Owner.Ended(s, c)
}
