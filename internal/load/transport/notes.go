package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rlcheck/rlcheck/internal/http2"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// noteBook has what is told of a target and of the run.
type noteBook struct {
	mu    sync.Mutex
	notes []string
	// words are those of notes of which one is enough. protocols are what the target answered in.
	words, protocols map[string]bool
}

// remember keeps the first error of each word as a note.
func (b *noteBook) remember(w string, err error) {
	if err != nil && w != CauseInterrupted {
		b.once(w, CauseFirst(w, CausePlain(err)))
	}
}

// once adds a note, unless one of the same word exists.
func (b *noteBook) once(w, note string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.words[w] {
		b.words[w] = true
		b.notes = append(b.notes, note)
	}
}

// Note adds a sentence to the header of the timeline.
func (b *noteBook) Note(format string, args ...any) {
	b.mu.Lock()
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
	b.mu.Unlock()
}

// Notes returns the notes so far, oldest first. The caller must not change the slice.
func (b *noteBook) Notes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes
}

// speaks remembers that the target answered on nc in this version of HTTP. Answers of the origin do not
// count.
func (b *noteBook) speaks(p *Pool, nc net.Conn, http string) {
	if p.origin {
		return
	}
	if secure, ok := nc.(*tls.Conn); ok {
		http += ", " + tls.VersionName(secure.ConnectionState().Version)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.protocols[http] = true
}

// hungUp tells whether connections were ended, or got an answer that is not HTTP.
func (b *noteBook) hungUp() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.words {
		if CauseHungUp(w) {
			return true
		}
	}
	return false
}

// Protocols returns the versions of HTTP that the target answered in, with those of TLS, in ascending order.
func (b *noteBook) Protocols() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.protocols))
}

// The notes on a ceiling that was reached; AtCeiling and MissedRemedy read them back.
const (
	ceilingOfRequests = "stopped at the ceiling of %d requests"
	ceilingOfTime     = "stopped at the ceiling of %v"
)

// CauseCeilingOfTime is the note on a ceiling of time that was reached.
func CauseCeilingOfTime(d time.Duration) string { return fmt.Sprintf(ceilingOfTime, d) }

// CauseSlept is the note on a recording that a sleep of this computer ended, and the reason to repeat it.
const CauseSlept = "this computer slept, or its clock was set, so nobody knows how much time passed meanwhile"

// CauseAtCeiling tells whether a note says that the ceiling of time ended a recording.
func CauseAtCeiling(note string) bool {
	return strings.HasPrefix(note, strings.TrimSuffix(ceilingOfTime, "%v"))
}

// slow is the median time of an answer from which on a target keeps connections busy.
const slow = 50 * time.Millisecond

// CauseMissedRemedy says what helps if the plan of tl was not kept. It knows these reasons: a lost agent, a
// ceiling, a stalled machine, and slow answers that occupied all connections. It returns "" for any other
// reason.
func CauseMissedRemedy(tl *timeline.Timeline) string {
	for _, note := range tl.Header.Notes {
		if strings.HasPrefix(note, timeline.OfAgent) {
			return "find out what happened to that agent on its machine, start the agents again, and " +
				"repeat the run"
		}
		var n int
		if _, err := fmt.Sscanf(note, ceilingOfRequests, &n); err == nil {
			return fmt.Sprintf("raise safety: max_requests, which is %d", n)
		}
		if at, found := strings.CutPrefix(note, strings.TrimSuffix(ceilingOfTime, "%v")); found {
			return "raise safety: max_duration, which is " + at
		}
	}
	most, middle := inFlight(tl)
	if still := stalled(tl); still > 0 && middle < slow {
		return fmt.Sprintf("this machine stood still for %v: use a machine with more idle processors, "+
			"or repeat the run (--retries 3)", still.Round(time.Millisecond))
	}
	if most == 0 || middle < slow || most != tl.Header.Audit.Connections { // over HTTP/2 the two differ
		return ""
	}
	return fmt.Sprintf("the median answer took %v, and all %d connections waited for answers: raise "+
		"safety: max_connections, or find out why the target is slow; a faster machine, or more requests, "+
		"do not help", middle.Round(time.Millisecond), most)
}

// stalled returns how long, in total, the recorder of tl did not run.
func stalled(tl *timeline.Timeline) (d time.Duration) {
	for _, s := range tl.Header.Stalls {
		d += s.To - s.From
	}
	return d
}

// inFlight returns the most requests that waited for answers at once, and the median wait. A request without
// an answer waited until the end.
func inFlight(tl *timeline.Timeline) (most int, middle time.Duration) {
	n := len(tl.Observations)
	if n == 0 {
		return 0, 0
	}
	ends, took, last := make([]time.Duration, n), make([]time.Duration, n), tl.End()
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if ends[i] = last; o.Answered {
			ends[i] = o.FirstByte
		}
		took[i] = ends[i] - o.Sent
	}
	slices.Sort(ends)
	slices.Sort(took)
	over := 0
	for i := range tl.Observations { // ascending by Sent
		for over < i && ends[over] <= tl.Observations[i].Sent {
			over++
		}
		most = max(most, i+1-over)
	}
	return most, took[n/2]
}

// doubt is a time in which answers may belong to other requests, since a target sent one too many.
//
//	request      1     2     3
//	answer   ?      1     2     3
//	         |  doubt           |  it comes unasked: now it is known
//
// An answer of HTTP/1.1 does not say which request it belongs to. A target may answer a request twice, or
// greet a client with an answer. So each answer on the connection may belong to an earlier request, or to
// none.
type doubt struct{ from, to time.Duration }

// doubts say which answers do not count. They are guarded by Transport.mu, and valid after Wait.
type doubts struct {
	// doubt is when answers arrived that may belong to other requests; nil for never. awake is the last time
	// before a sleep of this computer; nil for none.
	doubt *doubt
	awake *time.Duration
	hasty atomic.Bool
}

// surplus is the note on a target that had answered on a connection and then sent more than was asked for.
const surplus = timeline.OfTarget + "more answers came on a connection than requests were sent: " +
	"answers there may belong to other requests"

// surplus is called when something arrived on a connection that no request had asked for. answer tells
// whether that may be an answer to a request.
func (c *Conn) surplus(answer bool) {
	if c.served == 0 {
		return
	}
	c.t.once("surplus", surplus)
	if !answer {
		return
	}
	t, now := c.t, c.t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.doubt == nil {
		t.doubt = &doubt{from: c.first}
	}
	t.doubt.from, t.doubt.to = min(t.doubt.from, c.first), now
}

// reached is asked before a connection is closed that ended with err, if missing answers are denials. It
// tells whether the target had the request in flight and sent nothing back.
//
//	client    request ->                      request ->
//	target         FIN <-   (it was idle)          reads it    FIN <-   (it denies)
//	kernel    RST: never confirmed            confirmed before, or with, the FIN
//
// A target may close a connection after an answer, or an idle one, while a request is on its way: then no
// limiter has seen the request, and a denial would accuse one that had quota left. A reset without FIN comes
// from a target that resets on purpose, or that closes with the request unread. The latter is likely after an
// answer, so the connection must have been at rest since its last one. Two cases stay open: a target that
// ends its side alone (SHUT_WR) and confirms later bytes that it does not read, and a proxy of TCP in front
// of one. So no connection is used that was idle for longer than stale (shed).
func (c *Conn) reached(err error) bool {
	s := c.inflight.Load()
	switch {
	case s == nil || s.state.Load() != sent || errors.Is(err, http2.ErrRefused):
		return false
	case c.expires.Load() == expired, errors.Is(err, http2.ErrReset):
		return true // nothing came in time, or the stream was reset
	case !c.wrote(s.sentAt):
		return false
	case errors.Is(err, syscall.ECONNRESET):
		return c.link == nil && (c.served == 0 || s.sentAt-c.rested() >= rest)
	case c.link != nil:
		return c.link.heard
	}
	return Heard(c.raw)
}

// rest is how long after an answer a target that does not keep the connection has surely closed it.
const rest = 100 * time.Millisecond

// rested returns since when the connection could take the request in flight.
func (c *Conn) rested() time.Duration {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	return c.idleSince
}

// wrote tells whether the header block sent at a time was written. A target may hang up before the write
// returns: wrote waits 10 ms for it.
func (c *Conn) wrote(at time.Duration) bool {
	for range 100 {
		if p := c.posted.Load(); p == int64(at) || -p == int64(at) {
			return p > 0
		}
		time.Sleep(100 * time.Microsecond)
	}
	return false
}

// early is the note on an answer that came before the last bytes of its request were written.
const early = timeline.OfTarget + "it answered, or hung up, before it had the whole request: the intervals " +
	"of requests that were held back for a burst begin with their first bytes"

// tooEarly is called for an answer that came before its gate opened.
func (c *Conn) tooEarly() {
	c.t.hasty.Store(true)
	c.t.once("early", early)
}

// byFirstLine is the note on a target whose clock stood still while a request was held back.
const byFirstLine = timeline.OfTarget + "Apache dates a request by its first line: the intervals of " +
	"requests that were held back for a burst begin with their first bytes"

// dates looks at the fields of an answer to a gated request. Apache gives its modules the time of the first
// line as the time of the request (r->request_time), and mod_qos counts by it.
func (c *Conn) dates(f timeline.Fields) {
	if server, _ := f.Get("Server"); strings.HasPrefix(server, "Apache") {
		c.t.hasty.Store(true)
		c.t.once("first line", byFirstLine)
	}
}

// Hasty tells whether the target may have decided gated requests before their gates opened. It answered one
// so early, or it dates requests by their first line. It is valid after Wait.
func (d *doubts) Hasty() bool { return d.hasty.Load() }

// another tells whether b, which no request asked for, begins an answer to a request. Status 408 does not: it
// is about a silent connection that the server is about to close (RFC 9110 section 15.5.9). Interim answers
// (1xx) do not either.
func another(b []byte) bool {
	const version, rest = "HTTP/1.1 ", "408"
	if len(b) < len(version+rest) {
		return len(b) > 0 && string(b[:min(len(b), 5)]) == version[:min(len(b), 5)]
	}
	status := string(b[len(version):len(version+rest)])
	return string(b[:5]) == version[:5] && status != rest && status[0] != '1'
}

// Slept aborts after a sleep of this computer, of which before is the last time that is known to be earlier.
// Our clock stood still and that of the target did not, so no later answer counts.
func (t *Transport) Slept(before time.Duration) {
	t.mu.Lock()
	t.awake = &before
	t.mu.Unlock()
	t.Note(CauseSlept)
	t.Abort()
}

// Doubtful tells whether some answers may belong to other requests, or came after a sleep. It is valid after
// Wait.
func (d *doubts) Doubtful() bool { return d.doubt != nil || d.awake != nil }

// Doubt removes the answer from o if it came after a sleep, or may belong to another request. The latter
// never holds over HTTP/2, where a stream names its request.
func (d *doubts) Doubt(o *timeline.Observation) {
	if d.awake != nil && o.Answered && o.FirstByte > *d.awake {
		Forget(o, CauseInterrupted)
	}
	if d.doubt == nil || !o.Answered || o.Sent < d.doubt.from || o.Sent > d.doubt.to {
		return
	}
	Forget(o, CauseSurplus)
}

// Forget removes the answer from o and sets its error to w.
func Forget(o *timeline.Observation, w string) {
	o.Answered, o.FirstByte, o.Done, o.Status = false, 0, 0, 0
	o.Outcome, o.Error, o.Fields, o.Body = timeline.Unknown, w, nil, ""
}
