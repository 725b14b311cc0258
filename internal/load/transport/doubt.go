package transport

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/load/cause"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// doubt is a time whose answers may be those of other requests: a target sent one too many.
//
//	request   1     2     3
//	answer       1     1     2     3
//	             |  doubt          |  it comes unasked: now it is known
//
// An answer of HTTP/1.1 does not say which request it belongs to. The first of a connection is the one asked
// for. Of those that follow, each may be the one of a request before it.
type doubt struct{ from, to time.Duration }

// surplus is that a target, which had answered on a connection, sent more there than was asked for.
const surplus = timeline.OfTarget + "more answers came on a connection than requests were sent: " +
	"answers there may belong to other requests"

// surplus hears that something came on a connection that no request had asked for: an answer, or anything
// else.
func (c *Conn) surplus(answer bool) {
	if c.served == 0 {
		return
	}
	c.t.once("surplus", surplus)
	if c.served < 2 || !answer {
		return
	}
	t, now := c.t, c.t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.doubt == nil {
		t.doubt = &doubt{from: c.second}
	}
	t.doubt.from, t.doubt.to = min(t.doubt.from, c.second), now
}

// early says that an answer came before the last bytes of its request were written.
const early = timeline.OfTarget + "it answered before it had the whole request: the intervals of requests " +
	"that were held back for a burst begin with their first bytes"

// tooEarly hears of an answer that came before its gate opened.
func (c *Conn) tooEarly() {
	c.t.hasty.Store(true)
	c.t.once("early", early)
}

// Hasty tells whether a gated request was answered before its gate opened. Then the target may have decided
// each gated request as early, also one that it answered later. It is asked after Wait.
func (t *Transport) Hasty() bool { return t.hasty.Load() }

// another tells whether b, which came unasked, begins an answer to a request. One with status 408 is about
// the silence of a connection that is about to be closed (RFC 9110 section 15.5.9).
func another(b []byte) bool {
	const version, rest = "HTTP/1.1 ", "408"
	if len(b) < len(version+rest) {
		return len(b) > 0 && string(b[:min(len(b), 5)]) == version[:min(len(b), 5)]
	}
	status := string(b[len(version):len(version+rest)])
	return string(b[:5]) == version[:5] && status != rest && status[0] != '1'
}

// Doubtful tells whether it is not known of some answers which requests they belong to. It is asked after
// Wait.
func (t *Transport) Doubtful() bool { return t.doubt != nil }

// Doubt takes the answer from o, if it may be the one of another request. One of HTTP/2 names its own.
func (t *Transport) Doubt(o *timeline.Observation) {
	if t.doubt == nil || !o.Answered || o.Sent < t.doubt.from || o.Sent > t.doubt.to {
		return
	}
	Forget(o, cause.Surplus)
}

// Forget takes the answer from o; w is the cause.
func Forget(o *timeline.Observation, w string) {
	o.Answered, o.FirstByte, o.Done, o.Status = false, 0, 0, 0
	o.Outcome, o.Error, o.Fields, o.Body = timeline.Unknown, w, nil, ""
}
