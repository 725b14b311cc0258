package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"syscall"

	"github.com/rlcheck/rlcheck/internal/eventloop"
	"github.com/rlcheck/rlcheck/internal/http2"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// The words of Observation.Error.
const (
	wordRefused     = "refused"
	wordReset       = "reset"
	wordTimeout     = "timeout"
	wordMalformed   = "malformed"
	wordTooLarge    = "header-too-large"
	wordTLS         = "tls"
	wordCertificate = "tls-certificate"
	wordNoTLS       = "no-tls"
	wordWantsTLS    = "wants-tls"
	wordHTTP2       = "http2"
	wordNoHTTP2     = "no-http2"
	wordProxy       = "proxy"
	wordNoProxy     = "no-proxy"
	wordNoSocket    = "no-socket"
	wordEOF         = "eof"
	wordClosed      = "closed"
	wordDNS         = "dns"
	wordForbidden   = "forbidden"
	wordNoRoute     = "no-route"
	wordInterrupted = "interrupted"
	wordNetwork     = "network"
)

var errInterrupted = errors.New("the recording was interrupted")

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

// word says in a word why a connection could not be made or broke.
func word(err error) string {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	var own told
	var silent *http2.NotSpoken
	var op *net.OpError
	switch {
	case errors.As(err, &own):
		return own.word
	case errors.As(err, &silent):
		return otherThanHTTP2(silent)
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return wordInterrupted
	case errors.As(err, new(forbidden)):
		return wordForbidden
	case errors.As(err, &dns):
		return wordDNS
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return wordTimeout
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return wordCertificate
	case errors.As(err, new(tls.RecordHeaderError)):
		return wordNoTLS
	case errors.As(err, new(handshake)), errors.As(err, new(tls.AlertError)):
		return wordTLS
	case errors.As(err, &op) && op.Net == "unix" && op.Op == "dial":
		return wordNoSocket
	case errors.Is(err, syscall.ECONNREFUSED):
		return wordRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, syscall.ECONNABORTED), errors.Is(err, io.ErrClosedPipe):
		return wordReset
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.EADDRNOTAVAIL):
		return wordNoRoute
	case errors.Is(err, http2.ErrReset):
		return wordReset
	case errors.Is(err, http2.ErrGoneAway), errors.Is(err, net.ErrClosed):
		return wordClosed
	case errors.Is(err, http2.ErrMalformed):
		return wordMalformed
	case errors.Is(err, http2.ErrTooLarge):
		return wordTooLarge
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return wordEOF
	default:
		return wordNetwork
	}
}

// dial opens a connection of p; reading has not begun.
func (r *recorder) dial(p *pool) (*conn, error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.o.Timeout)
	defer cancel()
	if r.o.HTTP2 {
		return r.join(ctx, p)
	}
	nc, raw, err := r.dialSecure(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &conn{r: r, pool: p, nc: nc, raw: raw}
	c.in = intake{from: nc, clock: r.clock, left: maxHeader}
	if !r.attach(c) {
		c.br = bufio.NewReaderSize(&c.in, eventloop.Most)
	}
	return c, nil
}

// dialSecure opens a connection to the target or the origin of p: through the proxy, if there is one, and
// with TLS for https. raw is what is closed.
func (r *recorder) dialSecure(ctx context.Context, p *pool) (nc, raw net.Conn, err error) {
	u := r.o.URL
	if p.origin {
		u = r.o.Origin
	}
	raw, err = r.dialVia(ctx, p, u)
	if err != nil {
		return nil, nil, err
	}
	nc = raw
	if u.Scheme == "https" {
		t := tls.Client(raw, r.tlsConfig(u))
		if err := t.HandshakeContext(ctx); err != nil {
			raw.Close()
			if r.o.HTTP2 && errors.Is(err, noProtocol) {
				return nil, nil, told{wordNoHTTP2, err}
			}
			return nil, nil, handshake{err}
		}
		if r.o.HTTP2 && t.ConnectionState().NegotiatedProtocol != "h2" {
			raw.Close()
			return nil, nil, told{wordNoHTTP2, errors.New("the target does not offer h2 (ALPN)")}
		}
		nc = t
	}
	r.opened.Add(1)
	return nc, raw, nil
}

// noProtocol is the alert of a target that speaks none of the protocols offered (RFC 7301 section 3.2).
const noProtocol = tls.AlertError(120)

func (r *recorder) dialRaw(ctx context.Context, p *pool, addr string) (net.Conn, error) {
	var local netip.Addr
	network := "tcp"
	if r.o.Socket != "" {
		network, addr = "unix", r.o.Socket
	}
	if r.o.Partition.Kind == kindAddress && p.name != "" {
		local = source(p.name, p.number)
		ctx = context.WithValue(ctx, sourceKey{}, local)
	}
	if r.o.Dial != nil {
		return r.o.Dial(ctx, network, addr)
	}
	d := net.Dialer{Control: r.control}
	if local.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
	}
	// TCP_NODELAY is on by default. Probes for a dead peer would only add packets.
	d.KeepAlive = -1
	return d.DialContext(ctx, network, addr)
}

// control asks the guard about the address that is about to be connected to.
func (r *recorder) control(network, addr string, _ syscall.RawConn) error {
	if r.o.Guard == nil || network == "unix" {
		return nil
	}
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return forbidden{fmt.Errorf("address %q: %w", addr, err)}
	}
	if err := r.o.Guard(a.Addr().Unmap()); err != nil {
		return forbidden{err}
	}
	return nil
}

func (r *recorder) tlsConfig(u *url.URL) *tls.Config {
	c := r.o.TLS.Clone()
	if c == nil {
		c = &tls.Config{}
	}
	if c.ServerName == "" {
		c.ServerName = u.Hostname()
	}
	c.NextProtos = []string{"http/1.1"}
	if r.o.HTTP2 {
		c.NextProtos = []string{"h2"}
	}
	if len(c.Certificates) == 0 && c.GetClientCertificate == nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if !r.uncertified.Swap(true) {
				r.note(NoCertificate)
			}
			return &tls.Certificate{}, nil // none
		}
	}
	return c
}

// NoCertificate is the note of a recording whose target asked who the client is. Some answer nobody else:
// nginx with status 400, others with an alert.
const NoCertificate = timeline.OfTarget + "it asked for a certificate of the client, and was shown none " +
	"(--cert FILE --key FILE)"

// address returns host:port of u.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}
