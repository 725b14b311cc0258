package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/http2"
	"github.com/rlcheck/rlcheck/internal/load/cause"
	"github.com/rlcheck/rlcheck/internal/load/grpc"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// link is one HTTP/2 connection. To pools and shots each of its streams is a conn, which carries one request
// at a time:
//
//	pool --- conn, conn, conn ... one for each request in flight
//	            \    |    /
//	              link           one connection, one goroutine that reads it
//
// So everything that holds for connections holds for streams, and a burst on a link is one write.
type link struct {
	t      *Transport
	raw    net.Conn
	h2     *http2.Conn
	number int
	// closing tells that it takes no more streams.
	closing atomic.Bool

	mu    sync.Mutex
	slots map[*Conn]struct{}
	// names are the canonical forms of the field names that came, empty for those that are not kept. The
	// reader's.
	names map[string]string
	// scratch is where the fields of an answer are gathered; the reader's.
	scratch timeline.Fields
	// blurred tells that answers may have been lost: the connection ended, or a time ran out, while several
	// requests waited. The reader's.
	blurred bool
}

// slot is what a conn has that is a stream of a link.
type slot struct {
	stream http2.Stream
	// cut asks the reader to end what is in flight.
	cut atomic.Bool
	// headed tells that the header block of the answer came, open that only its trailers say
	// what it means (gRPC); body is what is kept of what follows. They are the reader's.
	headed, open bool
	body         []byte
}

// join returns a new stream of a link of p, or of a new link where none has room or each request is to have
// its own.
func (t *Transport) join(ctx context.Context, p *Pool) (*Conn, error) {
	p.linking.Lock()
	defer p.linking.Unlock()
	open := p.links[:0]
	for _, l := range p.links {
		if !l.closing.Load() {
			open = append(open, l)
		}
	}
	p.links = open
	if !t.alone.Load() {
		for _, l := range p.links {
			if c := l.take(p); c != nil {
				return c, nil
			}
		}
	}
	l, err := t.newLink(ctx, p)
	if err != nil {
		return nil, err
	}
	c := l.take(p)
	if c == nil {
		l.raw.Close()
		return nil, cause.Told(cause.Reset, errors.New("the target allows no stream on a connection"))
	}
	p.links = append(p.links, l)
	return c, nil
}

// newLink opens a connection and begins to read it.
func (t *Transport) newLink(ctx context.Context, p *Pool) (*link, error) {
	nc, raw, err := t.dialSecure(ctx, p)
	if err != nil {
		return nil, err
	}
	l := &link{t: t, raw: raw, number: int(t.linked.Add(1)), slots: map[*Conn]struct{}{},
		names: map[string]string{}}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	l.h2, err = http2.New(nc, http2.Options{Now: t.clock.Now, Patience: t.o.Timeout, Woken: l.reap,
		Drained: l.drain})
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	t.speaks(p, nc, "HTTP/2")
	t.wg.Add(1)
	go l.serve()
	return l, nil
}

// take returns a new stream, or nil where there is no room.
func (l *link) take(p *Pool) *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing.Load() || len(l.slots) >= l.h2.Room() {
		return nil
	}
	c := &Conn{t: l.t, pool: p, link: l, slot: &slot{}}
	c.stream.Owner = c
	l.slots[c] = struct{}{}
	return c
}

// leave takes a stream out of the link; the last one closes it. It never waits for the network.
func (l *link) leave(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.slots, c)
	if len(l.slots) == 0 {
		l.closing.Store(true)
		l.raw.Close()
	}
}

// all returns the streams there are.
func (l *link) all() []*Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*Conn, 0, len(l.slots))
	for c := range l.slots {
		out = append(out, c)
	}
	return out
}

// serve reads until the connection ends, and ends all its streams then.
func (l *link) serve() {
	defer l.t.wg.Done()
	err := l.h2.Serve()
	l.mu.Lock()
	l.closing.Store(true)
	l.mu.Unlock()
	l.raw.Close()
	streams := l.all()
	l.blur(streams)
	for _, c := range streams {
		c.giveUp(err)
	}
}

// blur is called before requests are ended to which no answer came. A target that ends or forgets the
// connection for one of several loses its answers to the others, too.
func (l *link) blur(streams []*Conn) {
	waiting := 0
	for _, c := range streams {
		if c.inflight.Load() != nil && (c.open || !c.headed) {
			waiting++
		}
	}
	l.blurred = l.blurred || waiting > 1
}

// denies tells whether the missing answer to a request that ended with err means that it was denied, where
// missing answers are denials.
func (c *Conn) denies(err error) bool {
	switch {
	case c.link == nil || errors.Is(err, http2.ErrReset):
		return true
	case errors.Is(err, http2.ErrGoneAway) || c.link.blurred:
		c.t.once("blurred", cause.Blurred)
		return false
	}
	return true
}

// reap ends the streams that were cut. The reader calls it.
func (l *link) reap() {
	streams := l.all()
	if slices.ContainsFunc(streams, func(c *Conn) bool { return c.cut.Load() && c.inflight.Load() != nil }) {
		l.blur(streams)
	}
	for _, c := range streams {
		if c.cut.Load() {
			if s := c.inflight.Load(); s != nil && s.state.Load() == sent {
				l.h2.Cancel(&c.stream)
			}
			c.giveUp(errUnanswered)
		}
	}
}

// drain is called when the target takes no more streams: those in flight go on.
func (l *link) drain() {
	l.mu.Lock()
	l.closing.Store(true)
	l.mu.Unlock()
	t := l.t
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.pools {
		kept := p.idle[:0]
		for _, c := range p.idle {
			if c.link == l {
				t.discard(c)
			} else {
				kept = append(kept, c)
			}
		}
		p.idle = kept
	}
}

// send sends requests, for which streams of the link were taken, in one write. It returns the clock before
// the write, and how many there were. What could not be begun is placed again; the reader hears of an error.
func (l *link) send(batch []Loaded) (at time.Duration, n int) {
	t := l.t
	streams := make([]*http2.Stream, len(batch))
	for i, x := range batch {
		x.c.stream.Request = x.s.Request.H2
		streams[i] = &x.c.stream
	}
	_ = l.h2.Send(streams, func(i int, now time.Duration) bool {
		c, s := batch[i].c, batch[i].s
		s.sentAt = now
		if !s.state.CompareAndSwap(taken, sent) {
			return false
		}
		at, n = now, n+1
		c.expires.Store(int64(now + t.o.Timeout))
		t.sent.Add(1)
		t.journal.Sent(&s.Entry, &s.Obs.Arrival, s.gated, now)
		return true
	})
	if n < len(batch) {
		// There was no room, or a stream has ended: that one and those behind it were not begun. Those
		// before it end with the connection.
		for _, x := range batch[n:] {
			l.replace(x.c, x.s)
		}
	}
	return at, n
}

// replace sends a request elsewhere that was not begun. Its stream is given up before: the reader, which
// ends the streams of a connection one by one, must not end what is in flight on another one.
func (l *link) replace(c *Conn, s *Shot) {
	if l.t.forget(c) != s {
		for s.state.Load() == taken { // the reader has given it up, and is about to say so
			runtime.Gosched()
		}
	}
	l.t.again(s)
}

// mostNames is how many names of fields a link remembers: a target may make up new ones for ever.
const mostNames = 1 << 10

// fields returns the fields of an answer that are kept.
func (l *link) fields(from []http2.Field) timeline.Fields {
	out := l.scratch[:0]
	for _, f := range from {
		name, known := l.names[f.Name]
		if !known {
			if name = http.CanonicalHeaderKey(f.Name); !l.t.o.Record(name) {
				name = ""
			}
			if len(l.names) < mostNames {
				l.names[f.Name] = name
			}
		}
		if name == "" {
			continue
		}
		out = inserted(out, name, f.Value)
	}
	l.scratch = out
	return l.t.fields.keep(out)
}

// Answer, Body, End and Broken make a conn the owner of its stream. The reader calls them.
func (c *Conn) Answer(a http2.Answer) {
	s := c.inflight.Load()
	o := s.Obs
	o.Sent, o.FirstByte, o.Answered = s.sentAt, a.At, true
	marks := http.Header{}
	for _, f := range a.Fields {
		if c.t.o.DeniedField != "" {
			marks.Add(f.Name, f.Value)
		}
	}
	o.Status, o.Outcome, o.Error = a.Status, c.t.o.Outcome(a.Status, marks), ""
	c.headed, c.body = true, c.body[:0]
	c.open = a.Status == http.StatusOK && grpc.Is(http2.Value(a.Fields, "content-type"))
	switch {
	case c.open && c.conclude(o, a.Fields):
		c.open = false
	case !c.open && a.Status == http.StatusOK && c.t.o.SpeaksGRPC():
		o.Outcome = timeline.Unknown
		c.t.once("no grpc", notGRPC)
	}
	o.Fields = c.link.fields(a.Fields)
}

// notGRPC is the note on what a gateway or a server of other things answers to a call of gRPC.
const notGRPC = timeline.OfTarget + "answers of status 200 were not gRPC, so nothing is known of the calls " +
	"(check the path and the host)"

// Body keeps the beginning of a denial's body.
func (c *Conn) Body(p []byte) bool {
	if o := c.inflight.Load().Obs; o.Outcome == timeline.Denied {
		c.slot.body = append(c.slot.body, p[:min(len(p), c.t.o.KeepBody-len(c.slot.body))]...)
	}
	return true
}

// End ends a whole answer. One of gRPC whose trailers say nothing is none.
func (c *Conn) End(trailers []http2.Field, at time.Duration) {
	o := c.inflight.Load().Obs
	if c.open {
		if !c.conclude(o, trailers) {
			c.giveUp(fmt.Errorf("%w: an answer of gRPC has no grpc-status", http2.ErrMalformed))
			return
		}
		c.open, o.FirstByte = false, at
		if more := c.link.fields(trailers); len(more) > 0 {
			o.Fields = c.link.t.fields.keep(merged(o.Fields, more))
		}
	}
	o.Done = at
	c.finish(true)
}

// Broken ends a request whose stream was ended.
func (c *Conn) Broken(err error) { c.giveUp(err) }

// giveUp ends a stream, and what is in flight on it.
func (c *Conn) giveUp(err error) {
	if c.headed && !c.open {
		c.finish(false)
		return
	}
	if s := c.inflight.Load(); c.open && s != nil { // what came says nothing of it
		s.Obs.Status, s.Obs.FirstByte, s.Obs.Fields = 0, 0, nil
	}
	c.headed, c.open = false, false
	c.end(err)
}

// finish ends the request in flight, to which at least the header block of an answer came.
func (c *Conn) finish(whole bool) {
	s := c.inflight.Load()
	c.headed = false
	s.Obs.Body = string(c.slot.body)
	c.served++
	c.over(s, whole && !s.Request.Last && !c.link.closing.Load())
}

// conclude writes into o what the trailers of gRPC say: the HTTP status that theirs stands for, its outcome,
// and the message as the explanation. It reports false where they have no status.
func (c *Conn) conclude(o *timeline.Observation, trailers []http2.Field) bool {
	status, ok := grpc.Status(trailers)
	if !ok {
		return false
	}
	o.Status, o.Outcome = status, timeline.Unknown
	if status != 0 {
		o.Outcome = c.t.o.Classify(status)
	}
	if text, ok := grpc.Message(trailers); ok && o.Outcome == timeline.Denied {
		c.slot.body = append(c.slot.body[:0], text[:min(len(text), c.t.o.KeepBody)]...)
	}
	return true
}

// merged returns the fields of two lists, ascending by name. Of a name in both the last one counts.
func merged(a, b timeline.Fields) timeline.Fields {
	out := slices.Clone(b)
	for _, f := range a {
		if _, again := b.Get(f.Name); !again {
			out = inserted(out, f.Name, f.Value)
		}
	}
	return out
}
