package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"

	"github.com/rlcheck/rlcheck/internal/eventloop"
	"github.com/rlcheck/rlcheck/internal/load/cause"
	"github.com/rlcheck/rlcheck/internal/load/options"
)

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
				return nil, nil, cause.Told(cause.NoHTTP2, err)
			}
			return nil, nil, cause.OfHandshake(err)
		}
		if r.o.HTTP2 && t.ConnectionState().NegotiatedProtocol != "h2" {
			raw.Close()
			return nil, nil, cause.Told(cause.NoHTTP2, errors.New("the target does not offer h2 (ALPN)"))
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
	if r.o.Partition.Kind == options.ByAddress && p.name != "" {
		local = source(p.name, p.number)
		ctx = options.WithSource(ctx, local)
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
		return cause.OfGuard(fmt.Errorf("address %q: %w", addr, err))
	}
	if err := r.o.Guard(a.Addr().Unmap()); err != nil {
		return cause.OfGuard(err)
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
				r.Note(cause.NoCertificate)
			}
			return &tls.Certificate{}, nil // none
		}
	}
	return c
}

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
