package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/http2"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// link is one HTTP/2 connection. To pools and shots each of its streams is a Conn, which carries one request
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
	// closing tells that the link takes no more streams. begun counts the streams that were begun or are to
	// begin now.
	closing atomic.Bool
	begun   atomic.Int64

	mu    sync.Mutex
	slots map[*Conn]struct{}
	// names maps field names that arrived to their canonical forms, "" for fields that are not kept. It
	// belongs to the reader.
	names map[string]string
	// scratch is where the fields of an answer are gathered. It belongs to the reader.
	scratch timeline.Fields
	// blurred tells that answers may have been lost: the connection ended, or a request timed out, while
	// several requests waited. It belongs to the reader.
	blurred bool
	// heard tells that the target had all that was sent when it ended the connection. It belongs to the
	// reader.
	heard bool
}

// slot is the part of a Conn that only a stream of a link has.
type slot struct {
	stream http2.Stream
	// cut asks the reader to end the request in flight.
	cut atomic.Bool
	// headed tells that the header block of the answer arrived. open tells that only its trailers say what
	// the answer means (gRPC). body is what is kept of the body. They belong to the reader.
	headed, open bool
	body         []byte
}

// join returns a new stream of a link of p. It opens a new link if none has room, one at a time. If each
// request is to have its own connection, it always opens one.
func (t *Transport) join(ctx context.Context, p *Pool) (*Conn, error) {
	if t.alone.Load() {
		l, err := t.newLink(ctx, p)
		if err != nil {
			return nil, err
		}
		p.linking.Lock()
		defer p.linking.Unlock()
		return l.first(p)
	}
	p.linking.Lock()
	defer p.linking.Unlock()
	if ctx.Err() != nil { // others tried meanwhile, for as long as this one may
		return nil, cmp.Or(p.unlinked, ctx.Err())
	}
	for _, l := range p.links {
		if c := l.take(p); c != nil {
			return c, nil
		}
	}
	l, err := t.newLink(ctx, p)
	if p.unlinked = err; err != nil {
		return nil, err
	}
	return l.first(p)
}

// first returns the first stream of a new link, and adds the link to p. The caller holds p.linking.
func (l *link) first(p *Pool) (*Conn, error) {
	c := l.take(p)
	if c == nil {
		l.raw.Close()
		return nil, told{CauseReset, errors.New("the target allows no stream on a connection")}
	}
	p.links = append(slices.DeleteFunc(p.links, func(l *link) bool { return l.closing.Load() }), l)
	return c, nil
}

// newLink opens a connection and begins to read it.
func (t *Transport) newLink(ctx context.Context, p *Pool) (*link, error) {
	began := t.clock.Now()
	nc, raw, err := t.dialer.secure(ctx, p)
	if err != nil {
		return nil, err
	}
	t.opened.Add(1)
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
		var silent *http2.NotSpoken
		if _, agreed := nc.(*tls.Conn); agreed && errors.As(err, &silent) && len(silent.First) == 0 {
			err = silent.Err // ALPN chose h2: that it is not spoken is not why
		}
		return nil, err
	}
	t.timed(t.clock.Now() - began)
	t.speaks(p, nc, "HTTP/2")
	t.wg.Add(1)
	go l.serve()
	return l, nil
}

// take returns a new stream, or nil if the link has no room.
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

// leave takes a stream out of the link. The last one closes the link. It never waits for the network.
func (l *link) leave(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.slots, c)
	if len(l.slots) == 0 {
		l.closing.Store(true)
		l.raw.Close()
	}
}

// all returns the current streams, in no order.
func (l *link) all() []*Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*Conn, 0, len(l.slots))
	for c := range l.slots {
		out = append(out, c)
	}
	return out
}

// serve reads until the connection ends. It then ends all streams.
func (l *link) serve() {
	defer l.t.wg.Done()
	err := l.h2.Serve()
	l.mu.Lock()
	l.closing.Store(true)
	l.mu.Unlock()
	l.heard = Heard(l.raw)
	l.raw.Close()
	streams := l.all()
	l.blur(streams)
	for _, c := range streams {
		c.giveUp(err)
	}
}

// blur is called before requests without an answer are ended. If a target ends or forgets the connection for
// one request, it loses the answers to the other waiting ones too.
func (l *link) blur(streams []*Conn) {
	waiting := 0
	for _, c := range streams {
		if c.inflight.Load() != nil && (c.open || !c.headed) {
			waiting++
		}
	}
	l.blurred = l.blurred || waiting > 1
}

// denies tells whether the request that ended with err was denied, if missing answers are denials. A missing
// answer that the target lost with the connection is not a denial.
func (c *Conn) denies(err error) bool {
	blurred := c.link != nil && c.link.blurred && !errors.Is(err, http2.ErrReset)
	switch {
	case blurred || errors.Is(err, http2.ErrGoneAway):
		c.t.once("blurred", CauseBlurred)
		return false
	case !c.heard:
		c.t.once("unheard", CauseUnheard)
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

// drain is called when the target takes no more streams. Streams in flight go on.
func (l *link) drain() {
	l.mu.Lock()
	l.closing.Store(true)
	l.mu.Unlock()
	t := l.t
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.pools {
		t.discardIf(p, func(c *Conn) bool { return c.link == l })
	}
}

// send sends a batch of requests, for which streams of the link were taken, in one write. It returns the
// clock before the write, and how many were sent. Requests that could not begin are placed again. The reader
// notices an error of the write.
func (l *link) send(batch []Loaded) (at time.Duration, n int) {
	t := l.t
	left := l.spend(len(batch))
	streams := make([]*http2.Stream, left)
	for i, x := range batch[:left] {
		x.c.stream.Request = x.s.Request.H2
		streams[i] = &x.c.stream
	}
	err := l.h2.Send(streams, func(i int, now time.Duration) bool {
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
	for _, x := range batch[:n] {
		x.c.post(at, err)
	}
	if n < len(batch) {
		// There was no room, a stream has ended, or the link has had its streams. That request and those
		// behind it did not begin. If a stream has ended, those before it end with the connection.
		for _, x := range batch[n:] {
			l.replace(x.c, x.s)
		}
	}
	return at, n
}

// mostStreams is how many streams a link begins. nginx ends a connection of HTTP/2 after a thousand requests
// (keepalive_requests), and takes none of those that are on their way to it then.
const mostStreams = 1000

// spend returns how many of n streams the link may begin. The last one drains it.
func (l *link) spend(n int) int {
	left := mostStreams - int(l.begun.Add(int64(n))) + n
	if left <= n {
		l.drain()
	}
	return min(max(left, 0), n)
}

// worn tells whether a link had half of its streams, and closes it to new ones then. A nil link is not worn.
// A phase begins with connections that are not.
func (l *link) worn() bool {
	if l == nil || l.begun.Load() <= mostStreams/2 {
		return false
	}
	l.closing.Store(true)
	return true
}

// replace sends a request elsewhere that did not begin. It gives up the stream first. The reader ends the
// streams of a connection one by one, and must not end a request that is in flight on another one.
func (l *link) replace(c *Conn, s *Shot) {
	if l.t.forget(c) != s {
		for s.state.Load() == taken { // the reader has given it up, and is about to set its state
			runtime.Gosched()
		}
	}
	l.t.again(s)
}

// mostNames is how many field names a link remembers: a target may invent new ones without end.
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

// Answer, Body, End and Broken make a Conn the owner of its stream. The reader calls them.
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
	c.open = a.Status == http.StatusOK && GRPCIs(http2.Value(a.Fields, "content-type"))
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

// Body keeps the beginning of the body of a denial, of one that may say that it is a denial, or of a 400 for
// CauseOfPage.
func (c *Conn) Body(p []byte) bool {
	most, o := 0, c.inflight.Load().Obs
	if o.Outcome == timeline.Denied {
		most = c.t.o.KeepBody
	}
	if o.Status == http.StatusBadRequest {
		most = max(most, CausePageSize)
	}
	most = max(most, int(c.t.o.marked()))
	c.slot.body = append(c.slot.body, p[:min(len(p), most-len(c.slot.body))]...)
	return true
}

// End ends a whole answer. An answer of gRPC whose trailers have no status is malformed.
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

// giveUp ends a stream, and the request in flight on it.
func (c *Conn) giveUp(err error) {
	if errors.Is(err, http2.ErrTwice) && c.headed { // which of the two answers counts is not known
		Forget(c.inflight.Load().Obs, CauseWord(err))
		c.headed = false
	}
	if c.headed && !c.open {
		c.finish(false)
		return
	}
	if s := c.inflight.Load(); c.open && s != nil { // the header block alone says nothing about the outcome
		s.Obs.Status, s.Obs.FirstByte, s.Obs.Fields = 0, 0, nil
	}
	c.headed, c.open = false, false
	c.end(err)
}

// finish ends the request in flight. At least the header block of its answer has arrived.
func (c *Conn) finish(whole bool) {
	s := c.inflight.Load()
	c.headed = false
	if s.Obs.Status == http.StatusBadRequest {
		if err := CauseOfPage(c.slot.body, c.t.o.URL.Scheme); err != nil {
			Forget(s.Obs, CauseWord(err))
			c.end(err)
			return
		}
	}
	c.t.o.byBody(s.Obs, c.slot.body, whole)
	c.served++
	c.over(s, whole && !s.Request.Last && !c.link.closing.Load())
}

// conclude writes into o what the trailers of gRPC say. That is the HTTP status that grpc-status stands for,
// the outcome, and the message as the body. It reports false if they have no status.
func (c *Conn) conclude(o *timeline.Observation, trailers []http2.Field) bool {
	status, ok := GRPCStatus(trailers)
	if !ok {
		return false
	}
	o.Status, o.Outcome = status, timeline.Unknown
	if status != 0 {
		o.Outcome = c.t.o.Classify(status)
	}
	if text, ok := GRPCMessage(trailers); ok && o.Outcome == timeline.Denied {
		c.slot.body = append(c.slot.body[:0], text[:min(len(text), c.t.o.KeepBody)]...)
	}
	return true
}

// merged returns the fields of two lists, ascending by name. A field of b replaces the one of a.
func merged(a, b timeline.Fields) timeline.Fields {
	out := slices.Clone(b)
	for _, f := range a {
		if _, again := b.Get(f.Name); !again {
			out = inserted(out, f.Name, f.Value)
		}
	}
	return out
}

// GRPCNoMessage is the body of a request with one empty message: not compressed, of length 0.
var GRPCNoMessage = []byte{0, 0, 0, 0, 0}

// GRPCIs tells whether the Content-Type of a request or an answer is that of gRPC.
func GRPCIs(contentType string) bool { return strings.HasPrefix(contentType, "application/grpc") }

const unavailable = 14

// GRPCStatus returns the HTTP status that the grpc-status in trailers stands for. It returns 0 for a status
// that no limiter uses; ok is false if there is none.
func GRPCStatus(trailers []http2.Field) (status int, ok bool) {
	code, err := strconv.Atoi(http2.Value(trailers, "grpc-status"))
	if err != nil {
		return 0, false
	}
	if code == unavailable && retryInfo(http2.Value(trailers, "grpc-status-details-bin")) {
		return http.StatusTooManyRequests, true
	}
	return ofHTTP(code), true
}

// GRPCMessage returns the message in trailers, which may be empty. ok is false if it cannot be decoded.
func GRPCMessage(trailers []http2.Field) (text string, ok bool) {
	text, err := url.PathUnescape(http2.Value(trailers, "grpc-message"))
	return text, err == nil
}

// ofHTTP returns the HTTP status that a gRPC status stands for (google/rpc/code.proto). It returns 0 for a
// status that no limiter uses.
func ofHTTP(code int) int {
	switch code {
	case 0:
		return http.StatusOK
	case 7: // PERMISSION_DENIED
		return http.StatusForbidden
	case 8: // RESOURCE_EXHAUSTED
		return http.StatusTooManyRequests
	case 13: // INTERNAL
		return http.StatusInternalServerError
	case unavailable:
		return http.StatusServiceUnavailable
	default:
		return 0
	}
}

// retryInfo tells whether grpc-status-details-bin, a google.rpc.Status, has a google.rpc.RetryInfo. It reads
// only this much of the wire format of protocol buffers:
//
//	Status   3: details, each Any
//	Any      1: type URL
func retryInfo(details string) (found bool) {
	status, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(details, "="))
	if err != nil {
		return false
	}
	eachText(status, 3, func(detail []byte) {
		eachText(detail, 1, func(kind []byte) {
			found = found || strings.HasSuffix(string(kind), "/google.rpc.RetryInfo")
		})
	})
	return found
}

// eachText calls take for every length-delimited field with this tag, as far as the message can be read.
func eachText(message []byte, tag uint64, take func([]byte)) {
	number := func() (v uint64, ok bool) {
		v, n := binary.Uvarint(message)
		if ok = n > 0; ok {
			message = message[n:]
		}
		return v, ok
	}
	const varint, text = 0, 2
	for len(message) > 0 {
		key, _ := number()
		n, ok := number()
		switch {
		case !ok || key&7 != varint && (key&7 != text || n > uint64(len(message))):
			return
		case key&7 == varint:
			continue
		case key>>3 == tag:
			take(message[:n])
		}
		message = message[n:]
	}
}
