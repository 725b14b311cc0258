package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"unicode"

	"github.com/rlcheck/rlcheck/internal/http2"
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

// told is an error with a word of its own, which CauseWord returns.
type told struct {
	word string
	error
}

func (h handshake) Unwrap() error { return h.error }
func (t told) Unwrap() error      { return t.error }

// CauseOfProxy marks an error of the way to a proxy, or of the tunnel asked of it.
func CauseOfProxy(err error) error {
	switch CauseWord(err) {
	case CauseInterrupted, CauseForbidden:
		return err
	case CauseRefused:
		return told{CauseNoProxy, err}
	default:
		return told{CauseProxy, err}
	}
}

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
