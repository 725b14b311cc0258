package cause

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"

	"github.com/rlcheck/rlcheck/internal/http2"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// wantsTLS are phrases that servers send with a 400 to plain HTTP on a port for HTTPS: Go, nginx, Apache,
// Tomcat.
var wantsTLS = [...]string{
	"HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port",
	"SSL-enabled server port", "requires TLS",
}

// SaysTLS tells whether b, the beginning of the body of a 400 to plain HTTP, says that the port is for HTTPS.
func SaysTLS(b []byte) bool {
	return slices.ContainsFunc(wantsTLS[:], func(s string) bool { return bytes.Contains(b, []byte(s)) })
}

// Protocol returns the word for the protocol of the first bytes of an answer: WantsTLS or HTTP2, and "" for
// any other. b has at most nine bytes.
func Protocol(b []byte) string {
	const alert, settings, goAway = 0x15, 4, 7
	switch {
	case len(b) >= 2 && b[0] == alert && b[1] == 3:
		return WantsTLS
	case len(b) >= 5 && b[0] == 0 && (b[3] == settings || b[3] == goAway):
		return HTTP2
	default:
		return ""
	}
}

// otherThanHTTP2 returns the word for a target that did not begin with the settings of HTTP/2.
func otherThanHTTP2(e *http2.NotSpoken) string {
	switch {
	case Protocol(e.First) == WantsTLS || SaysTLS(e.First):
		return WantsTLS
	case len(e.First) == 0 && (errors.Is(e.Err, os.ErrDeadlineExceeded) || errors.Is(e.Err,
		context.DeadlineExceeded)):
		return Timeout
	default:
		return NoHTTP2
	}
}

// HungUp tells whether a word is that of a target that ended a connection, or whose answer is not HTTP.
func HungUp(word string) bool {
	return slices.Contains([]string{EOF, Reset, Closed, Malformed}, word)
}

// Reword replaces the error of a request that the target hung up on by the protocol that the target speaks.
// spoken is that word; "" changes nothing.
func Reword(o *timeline.Observation, spoken string) {
	if spoken != "" && !o.Origin && HungUp(o.Error) {
		o.Error = spoken
	}
}
