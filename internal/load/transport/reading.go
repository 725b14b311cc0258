package transport

import (
	"bufio"
	"bytes"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

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
