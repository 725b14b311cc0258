package transport

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
	"time"
)

// dial opens a connection of p. The connection is not read yet.
func (t *Transport) dial(p *Pool) (*Conn, error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.o.Timeout)
	defer cancel()
	if t.o.HTTP2 {
		return t.join(ctx, p)
	}
	began := t.clock.Now()
	nc, raw, err := t.dialSecure(ctx, p)
	if err != nil {
		return nil, err
	}
	t.timed(began)
	c := &Conn{t: t, pool: p, nc: nc, raw: raw}
	c.in = intake{from: nc, clock: t.clock, left: maxHeader}
	if !t.attach(c) {
		c.br = bufio.NewReaderSize(&c.in, MostLoops)
	}
	return c, nil
}

// OpeningTime estimates how long it takes to open n connections: for each batch twice the slowest opening so
// far.
func (t *Transport) OpeningTime(n int) time.Duration {
	batches := (min(n, t.o.MaxConnections) + dialling - 1) / dialling
	return 2 * time.Duration(t.slowest.Load()) * time.Duration(batches)
}

// MeanOpening is how long it took on average to open a connection. It is 0 if none was opened yet.
func (t *Transport) MeanOpening() time.Duration {
	return time.Duration(t.openings.Load() / max(t.opened.Load(), 1))
}

// timed counts how long it took to open a connection.
func (t *Transport) timed(began time.Duration) {
	took := int64(t.clock.Now() - began)
	t.openings.Add(took)
	if took > t.slowest.Load() {
		t.slowest.Store(took) // two at once may lose one value: this is an estimate
	}
}

// dialSecure opens a connection to the target or the origin of p: through the proxy, if there is one, and
// with TLS for https. raw is what is closed.
func (t *Transport) dialSecure(ctx context.Context, p *Pool) (nc, raw net.Conn, err error) {
	u := t.o.URL
	if p.origin {
		u = t.o.Origin
	}
	raw, err = t.dialVia(ctx, p, u)
	if err != nil {
		return nil, nil, err
	}
	nc = raw
	if u.Scheme == "https" {
		secure := tls.Client(raw, t.tlsConfig(u))
		if err := secure.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, nil, CauseOfHandshake(err, t.o.HTTP2)
		}
		if t.o.HTTP2 && secure.ConnectionState().NegotiatedProtocol != "h2" {
			raw.Close()
			return nil, nil, CauseTold(CauseNoHTTP2, errors.New("the target does not offer h2 (ALPN)"))
		}
		nc = secure
	}
	t.opened.Add(1)
	return nc, raw, nil
}

func (t *Transport) dialRaw(ctx context.Context, p *Pool, addr string) (net.Conn, error) {
	var local netip.Addr
	network := "tcp"
	if t.o.Socket != "" {
		network, addr = "unix", t.o.Socket
	}
	if t.o.Partition.Kind == ByAddress && p.name != "" {
		local = source(p.name, p.number)
		ctx = WithSource(ctx, local)
	}
	dial := t.o.Dial
	if dial == nil {
		d := net.Dialer{Control: t.control}
		if local.IsValid() {
			d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
		}
		// TCP_NODELAY is on by default. Probes for a dead peer would only add packets.
		d.KeepAlive = -1
		dial = d.DialContext
	}
	if local.IsValid() { // its version is the only one
		return dial(ctx, network, addr)
	}
	return t.o.Families.Dial(ctx, network, addr, dial)
}

// control asks Options.Guard about the address that is about to be connected to.
func (t *Transport) control(network, addr string, _ syscall.RawConn) error {
	if t.o.Guard == nil || network == "unix" {
		return nil
	}
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return CauseOfGuard(fmt.Errorf("address %q: %w", addr, err))
	}
	if err := t.o.Guard(a.Addr().Unmap()); err != nil {
		return CauseOfGuard(err)
	}
	return nil
}

func (t *Transport) tlsConfig(u *url.URL) *tls.Config {
	c := t.o.TLS.Clone()
	if c == nil {
		c = &tls.Config{}
	}
	if c.ServerName == "" {
		c.ServerName = u.Hostname()
	}
	c.NextProtos = []string{"http/1.1"}
	if t.o.HTTP2 {
		c.NextProtos = []string{"h2"}
	}
	if shown := c.Certificates; c.GetClientCertificate == nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if len(shown) > 0 { // whichever authorities the target names: it may trust others too
				t.once("certificate", CauseShownCertificate)
				return &shown[0], nil
			}
			t.once("certificate", CauseNoCertificate)
			return &tls.Certificate{}, nil // an empty certificate means none
		}
	}
	return c
}

// address returns host:port of u, with the default port of the scheme.
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
