package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
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

// wantsCertificate are phrases that nginx sends with a 400 over TLS: no client certificate came, or one that
// it does not trust. It says so before it looks at any limit.
var wantsCertificate = [...]string{"No required SSL certificate was sent", "The SSL certificate error"}

// CausePageSize is how many bytes of the body of a 400 are enough for OfPage.
const CausePageSize = 1024

// CauseOfPage returns the error that b, the beginning of the body of a 400, tells of: the request needs TLS,
// or over TLS a client certificate. It returns nil if b tells of neither.
func CauseOfPage(b []byte, scheme string) error {
	b = b[:min(len(b), CausePageSize)]
	switch {
	case scheme == "http" && says(b, wantsTLS[:]) != "":
		return told{CauseWantsTLS, errors.New("the port wants TLS")}
	case scheme == "https" && says(b, wantsCertificate[:]) != "":
		return told{CauseClient, errors.New(says(b, wantsCertificate[:]))}
	default:
		return nil
	}
}

// says returns the first of the phrases that b has; "" for none.
func says(b []byte, phrases []string) string {
	for _, s := range phrases {
		if bytes.Contains(b, []byte(s)) {
			return s
		}
	}
	return ""
}

// CauseProtocol returns the word for the protocol of the first bytes of an answer: WantsTLS or HTTP2, and ""
// for any other. b has at most nine bytes.
func CauseProtocol(b []byte) string {
	const alert, settings, goAway = 0x15, 4, 7
	switch {
	case len(b) >= 2 && b[0] == alert && b[1] == 3:
		return CauseWantsTLS
	case len(b) >= 5 && b[0] == 0 && (b[3] == settings || b[3] == goAway):
		return CauseHTTP2
	default:
		return ""
	}
}

// otherThanHTTP2 returns the word for a target that did not begin with the settings of HTTP/2.
func otherThanHTTP2(e *http2.NotSpoken) string {
	switch {
	case CauseProtocol(e.First) == CauseWantsTLS || says(e.First, wantsTLS[:]) != "":
		return CauseWantsTLS
	case len(e.First) == 0 && (errors.Is(e.Err, os.ErrDeadlineExceeded) || errors.Is(e.Err,
		context.DeadlineExceeded)):
		return CauseTimeout
	default:
		return CauseNoHTTP2
	}
}

// CauseHungUp tells whether a word is that of a target that ended a connection, or whose answer is not the
// HTTP asked for.
func CauseHungUp(word string) bool {
	return slices.Contains([]string{CauseEOF, CauseReset, CauseClosed, CauseMalformed, CauseNoHTTP2}, word)
}

// CauseReword replaces the error of a request that the target hung up on by the protocol that the target
// speaks. spoken is that word; "" changes nothing.
func CauseReword(o *timeline.Observation, spoken string) {
	if spoken != "" && !o.Origin && CauseHungUp(o.Error) {
		o.Error = spoken
	}
}

// noProtocol is the alert of a target that speaks none of the offered protocols (RFC 7301 section 3.2).
const noProtocol = tls.AlertError(120)

// alerts are the words for TLS alerts by which a target says what it does not accept (RFC 8446 section 6.2).
// With TLS 1.3, alerts about the client certificate come after the handshake.
var alerts = map[tls.AlertError]word{
	42: CauseClient, 43: CauseClient, 44: CauseClient, 45: CauseClient, 46: CauseClient, 48: CauseClient,
	49:  CauseClient,
	116: CauseClient,
	112: CauseHostName,
}

// alerted returns the word for the alert by which a target ended a connection; empty for none.
func alerted(err error) word {
	for alert, w := range alerts {
		if causeSent(err, alert) {
			return w
		}
	}
	return ""
}

// causeSent tells whether the peer ended a connection with this alert. crypto/tls shows a received alert by
// its text alone.
func causeSent(err error, alert tls.AlertError) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" && op.Err.Error() == alert.Error()
}

// CauseOfHandshake marks an error of a TLS handshake. http2 tells whether the handshake offered HTTP/2 alone,
// or else HTTP/1.1 alone.
func CauseOfHandshake(err error, http2 bool) error {
	switch {
	case !causeSent(err, noProtocol):
		return handshake{err}
	case http2:
		return told{CauseNoHTTP2, err}
	}
	return told{CauseHTTP2, err}
}
