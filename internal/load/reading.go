package load

import (
	"bufio"
	"bytes"
	"net/http"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/rlcheck/rlcheck/internal/eventloop"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// reading is an event loop and what its thread reads with.
type reading struct {
	loop   *eventloop.Loop
	answer eventloop.Answer
	// next are the requests that answers of one round let their clients send. They are sent when all of the
	// round were read: a write takes ten times as long as a read, and intervals would end later.
	next []loaded
}

// send sends what is to be sent next.
func (l *reading) send() {
	for i, x := range l.next {
		l.next[i] = loaded{}
		x.c.send(x.s)
	}
	l.next = l.next[:0]
}

// mostLoops is how many event loops there are at most: one for every two processors, since targets, the pacer
// and what is recorded need some, too.
const mostLoops = 8

// attach gives a connection to an event loop, if one can read it.
func (r *recorder) attach(c *conn) bool {
	_, plain := c.raw.(syscall.Conn)
	if !plain || c.nc != c.raw || r.o.DeniedField != "" || len(r.o.Body) > eventloop.Most {
		return false
	}
	r.mu.Lock()
	most := min(max(1, runtime.GOMAXPROCS(0)/2), mostLoops)
	if len(r.loops) < most {
		l := &reading{answer: eventloop.Answer{Record: r.o.Record}}
		l.loop = eventloop.New(r.clock.Now, r.lag.Heard, l.send)
		r.loops = append(r.loops, l)
	}
	c.loop = r.loops[int(r.opened.Load())%len(r.loops)]
	r.mu.Unlock()
	if c.held = c.loop.loop.Join(c.raw, c); c.held == nil {
		return false
	}
	c.nc, c.raw = c.held, c.held
	return true
}

// begin lets a connection be read. The lock is held.
func (c *conn) begin() {
	if c.held == nil {
		go c.serve()
	} else if err := c.held.Begin(); err != nil {
		go c.Gone(err)
	}
}

// hold keeps the event loops from reading, until what it returns is called: what leaves at once is not held
// up by answers.
func (r *recorder) hold() (release func()) {
	r.mu.Lock()
	loops := slices.Clone(r.loops)
	r.mu.Unlock()
	for _, l := range loops {
		l.loop.Hold()
	}
	return func() {
		for _, l := range loops {
			l.loop.Release()
		}
	}
}

// knock asks the event loops how late they read.
func (r *recorder) knock() {
	r.mu.Lock()
	loops := slices.Clone(r.loops)
	r.mu.Unlock()
	for _, l := range loops {
		l.loop.Knock()
	}
}

// Ready takes in what came on a connection of an event loop: the whole answer, or else a goroutine goes on.
func (c *conn) Ready(b []byte, at time.Duration) {
	if c.served == 0 && c.known == 0 {
		c.known = copy(c.opening[:], b)
	}
	s, a := c.inflight.Load(), &c.loop.answer
	switch {
	case s == nil || s.state.Load() == taken:
		c.end(nil)
		return
	case s.state.Load() != sent || at < s.sentAt || s.req.Rest != nil ||
		s.req.Asked.Method == http.MethodHead || !a.Parse(b):
		c.leave(b, at)
		return
	}
	c.head(s, at, a.Status, c.r.o.Outcome(a.Status, nil), c.kept(a.Fields))
	if s.obs.Done = at; s.obs.Outcome == timeline.Denied {
		s.obs.Body = string(a.Body[:min(len(a.Body), c.r.o.KeepBody)])
	}
	var idle []string
	if a.KeepAlive != "" {
		idle = []string{a.KeepAlive}
	}
	c.serves("HTTP/1.1", idle)
	c.over(s, !s.req.Last)
}

// Gone ends a connection that an event loop read.
func (c *conn) Gone(err error) {
	defer c.r.wg.Done()
	c.in.err = err
	c.end(err)
}

// leave lets a goroutine go on, from what came and was read at a time.
func (c *conn) leave(b []byte, at time.Duration) {
	nc, err := c.held.Leave()
	if err != nil {
		c.Gone(err)
		return
	}
	c.in.from = bytes.NewReader(b)
	c.br = bufio.NewReaderSize(&c.in, eventloop.Most)
	_, _ = c.br.Peek(len(b))
	c.in.from, c.in.last = nc, at
	go c.serve()
}

// kept returns the fields of an answer that are kept.
func (c *conn) kept(from []eventloop.Field) timeline.Fields {
	out := c.scratch[:0]
	for _, f := range from {
		out = inserted(out, f.Name, c.r.fields.known(f.Value))
	}
	c.scratch = out
	return c.r.fields.keep(out)
}
