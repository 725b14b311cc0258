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
	nc, raw, err := t.dialer.secure(ctx, p)
	if err != nil {
		return nil, err
	}
	t.opened.Add(1)
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

// timed counts how long it took to open a connection.
func (t *Transport) timed(began time.Duration) {
	took := int64(t.clock.Now() - began)
	t.openings.Add(took)
	if took > t.slowest.Load() {
		t.slowest.Store(took) // two at once may lose one value: this is an estimate
	}
}

// dialer opens connections: what a run sends on.
type dialer struct {
	o     *Options
	notes *noteBook
}

// secure opens a connection to the target or the origin of p: through the proxy, if there is one, and
// with TLS for https. raw is what is closed.
func (d dialer) secure(ctx context.Context, p *Pool) (nc, raw net.Conn, err error) {
	u := d.o.URL
	if p.origin {
		u = d.o.Origin
	}
	raw, err = d.via(ctx, p, u)
	if err != nil {
		return nil, nil, err
	}
	nc = raw
	if u.Scheme == "https" {
		secure := tls.Client(raw, d.tlsConfig(u))
		if err := secure.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, nil, CauseOfHandshake(err, d.o.HTTP2)
		}
		if d.o.HTTP2 && secure.ConnectionState().NegotiatedProtocol != "h2" {
			raw.Close()
			return nil, nil, CauseTold(CauseNoHTTP2, errors.New("the target does not offer h2 (ALPN)"))
		}
		nc = secure
	}
	return nc, raw, nil
}

// raw opens a connection to an address, from the source address of p.
func (d dialer) raw(ctx context.Context, p *Pool, addr string) (net.Conn, error) {
	var local netip.Addr
	network := "tcp"
	if d.o.Socket != "" {
		network, addr = "unix", d.o.Socket
	}
	if d.o.Partition.Kind == ByAddress && p.name != "" {
		local = source(p.name, p.number)
		ctx = WithSource(ctx, local)
	}
	dial := d.o.Dial
	if dial == nil {
		own := net.Dialer{Control: d.control}
		if local.IsValid() {
			own.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
		}
		// TCP_NODELAY is on by default. Probes for a dead peer would only add packets.
		own.KeepAlive = -1
		dial = own.DialContext
	}
	if local.IsValid() { // its version is the only one
		return dial(ctx, network, addr)
	}
	return d.o.Families.Dial(ctx, network, addr, dial)
}

// control asks Options.Guard about the address that is about to be connected to.
func (d dialer) control(network, addr string, _ syscall.RawConn) error {
	if d.o.Guard == nil || network == "unix" {
		return nil
	}
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return CauseOfGuard(fmt.Errorf("address %q: %w", addr, err))
	}
	if err := d.o.Guard(a.Addr().Unmap()); err != nil {
		return CauseOfGuard(err)
	}
	return nil
}

func (d dialer) tlsConfig(u *url.URL) *tls.Config {
	c := d.o.TLS.Clone()
	if c == nil {
		c = &tls.Config{}
	}
	if c.ServerName == "" {
		c.ServerName = u.Hostname()
	}
	c.NextProtos = []string{"http/1.1"}
	if d.o.HTTP2 {
		c.NextProtos = []string{"h2"}
	}
	if shown := c.Certificates; c.GetClientCertificate == nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if len(shown) > 0 { // whichever authorities the target names: it may trust others too
				d.notes.once("certificate", CauseShownCertificate)
				return &shown[0], nil
			}
			d.notes.once("certificate", CauseNoCertificate)
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
