package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/rlcheck/rlcheck/internal/http2"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// word is a word of Observation.Error; load.Record says what each stands for.
type word = string

// The words.
const (
	CauseRefused     word = "refused"
	CauseReset       word = "reset"
	CauseTimeout     word = "timeout"
	CauseMalformed   word = "malformed"
	CauseTooLarge    word = "header-too-large"
	CauseTLS         word = "tls"
	CauseCertificate word = "tls-certificate"
	CauseClient      word = "tls-client"
	CauseHostName    word = "tls-host"
	CauseNoTLS       word = "no-tls"
	CauseWantsTLS    word = "wants-tls"
	CauseHTTP2       word = "http2"
	CauseNoHTTP2     word = "no-http2"
	CauseProxy       word = "proxy"
	CauseNoProxy     word = "no-proxy"
	CauseNoSocket    word = "no-socket"
	CauseEOF         word = "eof"
	CauseClosed      word = "closed"
	CauseSurplus     word = "surplus"
	CauseEarly       word = "early"
	CauseDNS         word = "dns"
	CauseForbidden   word = "forbidden"
	CauseNoRoute     word = "no-route"
	CauseInterrupted word = "interrupted"
	CauseNetwork     word = "network"
)

// ErrInterrupted ends a connection that was made after the recording had been interrupted.
var ErrInterrupted = errors.New("the recording was interrupted")

// handshake is an error of a TLS handshake.
type handshake struct{ error }

// told is an error with a word of its own.
type told struct {
	word string
	error
}

func (h handshake) Unwrap() error { return h.error }
func (t told) Unwrap() error      { return t.error }

// CauseOfGuard marks an error of Options.Guard, which forbids connections to some addresses.
func CauseOfGuard(err error) error { return told{CauseForbidden, err} }

// CauseOfProxy marks an error of the way to a proxy, or of the tunnel asked of it.
func CauseOfProxy(err error) error {
	switch CauseWord(err) {
	case CauseInterrupted, CauseForbidden:
		return err
	case CauseRefused:
		return CauseTold(CauseNoProxy, err)
	default:
		return CauseTold(CauseProxy, err)
	}
}

// CauseTold returns err with a word of its own: Word returns that word for it.
func CauseTold(word string, err error) error { return told{word, err} }

// CauseIsTold tells whether err has a word of its own.
func CauseIsTold(err error) bool { return errors.As(err, new(told)) }

// CauseWord returns the word for an error: why a connection could not be made, or why it broke. It returns
// Network if there is no better word.
func CauseWord(err error) string {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	var own told
	var silent *http2.NotSpoken
	var op *net.OpError
	switch {
	case errors.As(err, &own):
		return own.word
	case alerted(err) != "":
		return alerted(err)
	case errors.As(err, &silent):
		return otherThanHTTP2(silent)
	case errors.Is(err, ErrInterrupted), errors.Is(err, context.Canceled):
		return CauseInterrupted
	case errors.As(err, &dns):
		return CauseDNS
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return CauseTimeout
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return CauseCertificate
	case errors.As(err, new(tls.RecordHeaderError)):
		return CauseNoTLS
	case errors.As(err, new(handshake)), errors.As(err, new(tls.AlertError)):
		return CauseTLS
	case errors.As(err, &op) && op.Net == "unix" && op.Op == "dial":
		return CauseNoSocket
	case errors.Is(err, syscall.ECONNREFUSED):
		return CauseRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, syscall.ECONNABORTED), errors.Is(err, io.ErrClosedPipe):
		return CauseReset
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.EADDRNOTAVAIL):
		return CauseNoRoute
	case errors.Is(err, http2.ErrReset):
		return CauseReset
	case errors.Is(err, http2.ErrGoneAway), errors.Is(err, net.ErrClosed):
		return CauseClosed
	case errors.Is(err, http2.ErrMalformed):
		return CauseMalformed
	case errors.Is(err, http2.ErrTooLarge):
		return CauseTooLarge
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return CauseEOF
	default:
		return CauseNetwork
	}
}

// CausePlain makes one line of at most about 200 bytes of an error, which may quote the target. Unprintable
// characters become spaces.
func CausePlain(err error) string {
	s := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(err.Error(), "?"))
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + " ..."
	}
	return s
}

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
		return CauseTold(CauseWantsTLS, errors.New("the port wants TLS"))
	case scheme == "https" && says(b, wantsCertificate[:]) != "":
		return CauseTold(CauseClient, errors.New(says(b, wantsCertificate[:])))
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
		return CauseTold(CauseNoHTTP2, err)
	}
	return CauseTold(CauseHTTP2, err)
}
