package cause

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
	Refused     word = "refused"
	Reset       word = "reset"
	Timeout     word = "timeout"
	Malformed   word = "malformed"
	TooLarge    word = "header-too-large"
	TLS         word = "tls"
	Certificate word = "tls-certificate"
	Client      word = "tls-client"
	HostName    word = "tls-host"
	NoTLS       word = "no-tls"
	WantsTLS    word = "wants-tls"
	HTTP2       word = "http2"
	NoHTTP2     word = "no-http2"
	Proxy       word = "proxy"
	NoProxy     word = "no-proxy"
	NoSocket    word = "no-socket"
	EOF         word = "eof"
	Closed      word = "closed"
	Surplus     word = "surplus"
	Early       word = "early"
	DNS         word = "dns"
	Forbidden   word = "forbidden"
	NoRoute     word = "no-route"
	Interrupted word = "interrupted"
	Network     word = "network"
)

// ErrInterrupted ends a connection that was made after the recording had been interrupted.
var ErrInterrupted = errors.New("the recording was interrupted")

// forbidden is an error of Options.Guard.
type forbidden struct{ error }

// handshake is an error of a TLS handshake.
type handshake struct{ error }

// told is an error with a word of its own.
type told struct {
	word string
	error
}

func (f forbidden) Unwrap() error { return f.error }
func (h handshake) Unwrap() error { return h.error }
func (t told) Unwrap() error      { return t.error }

// OfGuard marks an error of Options.Guard, which forbids connections to some addresses.
func OfGuard(err error) error { return forbidden{err} }

// OfProxy marks an error of the way to a proxy, or of the tunnel asked of it.
func OfProxy(err error) error {
	switch Word(err) {
	case Interrupted, Forbidden:
		return err
	case Refused:
		return Told(NoProxy, err)
	default:
		return Told(Proxy, err)
	}
}

// Told returns err with a word of its own: Word returns that word for it.
func Told(word string, err error) error { return told{word, err} }

// IsTold tells whether err has a word of its own.
func IsTold(err error) bool { return errors.As(err, new(told)) }

// Word returns the word for an error: why a connection could not be made, or why it broke. It returns Network
// if there is no better word.
func Word(err error) string {
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
		return Interrupted
	case errors.As(err, new(forbidden)):
		return Forbidden
	case errors.As(err, &dns):
		return DNS
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return Timeout
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return Certificate
	case errors.As(err, new(tls.RecordHeaderError)):
		return NoTLS
	case errors.As(err, new(handshake)), errors.As(err, new(tls.AlertError)):
		return TLS
	case errors.As(err, &op) && op.Net == "unix" && op.Op == "dial":
		return NoSocket
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, syscall.ECONNABORTED), errors.Is(err, io.ErrClosedPipe):
		return Reset
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.EADDRNOTAVAIL):
		return NoRoute
	case errors.Is(err, http2.ErrReset):
		return Reset
	case errors.Is(err, http2.ErrGoneAway), errors.Is(err, net.ErrClosed):
		return Closed
	case errors.Is(err, http2.ErrMalformed):
		return Malformed
	case errors.Is(err, http2.ErrTooLarge):
		return TooLarge
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return EOF
	default:
		return Network
	}
}

// Plain makes one line of at most about 200 bytes of an error, which may quote the target. Unprintable
// characters become spaces.
func Plain(err error) string {
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
