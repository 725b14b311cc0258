package transport

import (
	"bufio"
	"bytes"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// reading is an event loop with the buffers of its thread.
type reading struct {
	loop   *Loop
	answer LoopAnswer
	// next are the requests that clients send after the answers of one round. They are sent when all answers
	// of the round were read. A write takes ten times as long as a read, and would make intervals end later.
	next []Loaded
}

// send sends the requests of next.
func (l *reading) send() {
	for i, x := range l.next {
		l.next[i] = Loaded{}
		x.c.send(x.s)
	}
	l.next = l.next[:0]
}

// mostLoops is the most event loops, one for every two processors. Targets, the pacer and the record of the
// run need processors too.
const mostLoops = 8

// loops are the event loops. They start with the first connection that they can read.
type loops struct {
	mu  sync.Mutex
	all []*reading
}

// attach gives a connection to an event loop, if one can read it.
func (t *Transport) attach(c *Conn) bool {
	_, plain := c.raw.(syscall.Conn)
	if !plain || c.nc != c.raw || t.o.DeniedField != "" || t.o.marked() > 0 || len(t.o.Body) > MostLoops {
		return false
	}
	if c.loop = t.oneLoop(); c.loop == nil {
		return false
	}
	if c.held = c.loop.loop.Join(c.raw, c); c.held == nil {
		return false
	}
	c.nc, c.raw = c.held, c.held
	return true
}

// oneLoop returns the event loop for the next connection; nil if the system has none.
func (t *Transport) oneLoop() *reading {
	t.loops.mu.Lock()
	defer t.loops.mu.Unlock()
	if len(t.loops.all) < min(max(1, runtime.GOMAXPROCS(0)/2), mostLoops) {
		l := &reading{answer: LoopAnswer{Record: t.o.Record}}
		if l.loop = NewLoop(t.clock.Now, t.heard, l.send); l.loop != nil {
			t.loops.all = append(t.loops.all, l)
		}
	}
	if len(t.loops.all) == 0 {
		return nil
	}
	return t.loops.all[int(t.opened.Load())%len(t.loops.all)]
}

// begin starts the reading of a connection. The lock is held.
func (c *Conn) begin() {
	if c.held == nil {
		go c.serve()
	} else if err := c.held.Begin(); err != nil {
		go c.Gone(err)
	}
}

// hold keeps the event loops from reading until release is called. So answers do not delay requests that
// leave together.
func (x *loops) hold() (release func()) {
	loops := x.readings()
	for _, l := range loops {
		l.loop.Hold()
	}
	return func() {
		for _, l := range loops {
			l.loop.Release()
		}
	}
}

// Reader returns the event loop that reads all connections so far; nil if there are none or several.
func (x *loops) Reader() Reader {
	loops := x.readings()
	if len(loops) != 1 {
		return nil
	}
	return loops[0].loop
}

// Knock asks the event loops how late they read. It returns how many will answer.
func (x *loops) Knock() (asked int) {
	for _, l := range x.readings() {
		if l.loop.Knock() {
			asked++
		}
	}
	return asked
}

// readings returns the event loops so far.
func (x *loops) readings() []*reading {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.all)
}

// Ready takes in what arrived on a connection of an event loop. If it is not the whole answer, a goroutine
// goes on. An interval ends with came. The answer is done at read, since the target may release the request
// after its last byte.
func (c *Conn) Ready(b []byte, came, read time.Duration) {
	if c.served == 0 && c.known == 0 {
		c.known = copy(c.opening[:], b)
	}
	s, a := c.inflight.Load(), &c.loop.answer
	switch {
	case s == nil || s.state.Load() == taken:
		c.surplus(another(b))
		c.end(nil)
		return
	case s.state.Load() != sent || came < s.sentAt || s.Request.Rest != nil ||
		s.Request.Asked.Method == http.MethodHead || !a.Parse(b):
		c.leave(b, came)
		return
	}
	c.head(s, came, a.Status, c.t.o.Outcome(a.Status, nil), c.kept(a.Fields))
	if s.Obs.Done = read; s.Obs.Outcome == timeline.Denied {
		s.Obs.Body = string(a.Body[:min(len(a.Body), c.t.o.KeepBody)])
	}
	var idle []string
	if a.KeepAlive != "" {
		idle = []string{a.KeepAlive}
	}
	c.serves("HTTP/1.1", idle)
	c.over(s, !s.Request.Last)
}

// Gone ends a connection that an event loop read.
func (c *Conn) Gone(err error) {
	defer c.t.wg.Done()
	c.in.err = err
	c.end(err)
}

// leave lets a goroutine go on reading. b has arrived already and was read at a time.
func (c *Conn) leave(b []byte, at time.Duration) {
	nc, err := c.held.Leave()
	if err != nil {
		c.Gone(err)
		return
	}
	c.in.from = bytes.NewReader(b)
	c.br = bufio.NewReaderSize(&c.in, MostLoops)
	_, _ = c.br.Peek(len(b))
	c.in.from, c.in.last = nc, at
	go c.serve()
}

// kept returns the fields of an answer that are kept.
func (c *Conn) kept(from timeline.Fields) timeline.Fields {
	out := c.scratch[:0]
	for _, f := range from {
		out = inserted(out, f.Name, f.Value)
	}
	c.scratch = out
	return c.t.fields.keep(out)
}

// LoopHandler gets what arrives on a connection. The loop calls it from its thread and reads nothing
// meanwhile, so it must not wait.
type LoopHandler interface {
	// Ready is called with the bytes of one read, 1 to Most of them. came is a time by which all of them had
	// arrived: the kernel's stamp if it can be used, or else read, the clock after that read. b is valid only
	// during the call.
	Ready(b []byte, came, read time.Duration)
	// Gone is called once, unless the connection leaves the loop. The connection has ended, and its
	// descriptor is closed. err is io.EOF, net.ErrClosed after Close, or a *net.OpError.
	Gone(err error)
}

// MostLoops is the most bytes of one read.
const MostLoops = 4096

// LoopAnswer is an answer of HTTP/1.1 that is whole and alone in a buffer, and whose header has nothing
// unusual. It is reused for many answers. Body and the values of Fields point into the parsed buffer and
// change with it.
type LoopAnswer struct {
	// Record tells, by its canonical name, which field is kept.
	Record func(name string) bool

	Status int
	// Fields are the kept fields in the order in which they arrived, with names in canonical form. A name may
	// be there more than once.
	Fields timeline.Fields
	// KeepAlive is the value of that field; "" for none.
	KeepAlive string
	Body      []byte

	known map[string]role
	// length is the length of the body by Content-Length; negative while unknown.
	length int
}

// role is what a field means to Parse.
type role struct {
	name string
	kept bool
	kind kind
}

type kind uint8

const (
	_ kind = iota // the field does not describe the message
	// unusual fields frame the message in another way, or net/http changes something because of them.
	unusual
	contentLength
	connection
	keepAlive
)

// mostKnown is how many names are remembered: a target may invent new ones without end.
const mostKnown = 1 << 10

// Parse reads b, an answer to GET or a similar method, and reports whether it can. It reports false for more
// or less than one answer, and for a body without Content-Length. It also refuses interim answers, 204, 304,
// 400, other versions, and malformed lines. A parser that can wait must read those. Parse reads nothing
// differently from net/http.
func (a *LoopAnswer) Parse(b []byte) bool {
	const version, shortest = "HTTP/1.1 ", len("HTTP/1.1 200 \r\n")
	if len(b) < shortest || string(b[:len(version)]) != version || b[12] != ' ' {
		return false
	}
	status, ok := number(b[9:12])
	if !ok || status < 200 || status == http.StatusNoContent || status == http.StatusNotModified ||
		status == http.StatusBadRequest { // a port for TLS answers 400 to plain HTTP
		return false
	}
	a.Status, a.Fields, a.KeepAlive, a.length = status, a.Fields[:0], "", -1
	_, b, ok = cutLine(b)
	for ok {
		var line []byte
		if line, b, ok = cutLine(b); ok && len(line) == 0 {
			a.Body = b
			return a.length == len(b)
		}
		ok = ok && a.take(line)
	}
	return false
}

// cutLine returns the first line of b without its end, and the rest. It reports false for a line without
// CRLF, or with bytes other than printable ASCII and tabs.
func cutLine(b []byte) (line, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '\n')
	if end < 1 || b[end-1] != '\r' {
		return nil, nil, false
	}
	line = b[:end-1]
	for _, c := range line {
		if c < ' ' && c != '\t' || c > '~' {
			return nil, nil, false
		}
	}
	return line, b[end+1:], true
}

// take takes in one field. It reports false for an unusual one.
func (a *LoopAnswer) take(line []byte) bool {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 {
		return false
	}
	r, known := a.known[string(line[:colon])]
	if !known {
		r = a.learn(string(line[:colon]))
	}
	value := bytes.TrimSpace(line[colon+1:]) // spaces and tabs: cutLine refuses others
	switch r.kind {
	case unusual:
		return false
	case contentLength:
		n, ok := number(value)
		if !ok || a.length >= 0 {
			return false
		}
		a.length = n
	case connection:
		if !strings.EqualFold(string(value), "keep-alive") {
			return false
		}
	case keepAlive:
		if a.KeepAlive != "" {
			return false
		}
		a.KeepAlive = string(value)
	}
	if r.kept {
		text := unsafe.String(unsafe.SliceData(value), len(value))
		a.Fields = append(a.Fields, timeline.Field{Name: r.name, Value: text})
	}
	return true
}

// learn finds the role of a field and remembers it.
func (a *LoopAnswer) learn(name string) role {
	r := role{name: http.CanonicalHeaderKey(name)}
	switch r.name {
	case "Transfer-Encoding", "Trailer", "Upgrade", "Pragma":
		r.kind = unusual
	case "Content-Length":
		r.kind = contentLength
	case "Connection":
		r.kind = connection
	case "Keep-Alive":
		r.kind = keepAlive
	}
	if !IsToken(name) {
		r.kind = unusual
	}
	r.kept = a.Record(r.name)
	if a.known == nil {
		a.known = map[string]role{}
	}
	if len(a.known) < mostKnown {
		a.known[name] = r
	}
	return r
}

// number reads one to six digits.
func number(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(b) > 0 && len(b) <= 6
}

// tight is how wide the bounds of the wall clock may be for a stamp to be used: a sample takes some 50 ns,
// unless the thread lost its processor within it.
const tight = 500 * time.Nanosecond

// stamps turns the kernel's stamps, which are of the wall clock, into times of the loop's clock. Both clocks
// are slewed alike, so their difference is constant until the wall clock is set.
//
//	before        arrival         read        after
//	sample          stamp                    sample     no step between the samples: the stamp is used
//
// A sample bounds the difference from both sides. Bounds that exclude those before show a step, and bounds
// that are not tight may hide one: what came before the sample is not turned then.
type stamps struct {
	// least and most bound how far the wall clock is ahead of the loop's, since a time of the loop's clock.
	// fresh is how wide the newest sample was.
	least, most, since, fresh time.Duration
}

// sample takes in that the wall clock was at wall, in nanoseconds since 1970, between two times of the loop's
// clock.
func (s *stamps) sample(before time.Duration, wall int64, after time.Duration) {
	least, most := time.Duration(wall)-after, time.Duration(wall)-before
	s.fresh = most - least
	if s.most-s.least > tight || least > s.most || most < s.least {
		s.least, s.most, s.since = least, most, after
		return
	}
	s.least, s.most = max(s.least, least), min(s.most, most)
}

// arrival returns a time of the loop's clock by which what was stamped had come, at most read: the time after
// the read that brought it. A sample was taken after that read. stamp is 0 where there is none.
func (s *stamps) arrival(stamp int64, read time.Duration) time.Duration {
	if stamp == 0 || s.fresh > tight {
		return read
	}
	at := time.Duration(stamp)
	if at-s.most < s.since {
		return read
	}
	// A step that two samples do not show is at most as wide as both. Two steps that cancel out between two
	// samples stay unseen.
	return min(at-s.least+2*tight, read)
}
