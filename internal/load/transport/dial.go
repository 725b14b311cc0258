package transport

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
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
	t.timed(t.clock.Now() - began)
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
func (t *tallies) timed(took time.Duration) {
	t.openings.Add(int64(took))
	if int64(took) > t.slowest.Load() {
		t.slowest.Store(int64(took)) // two at once may lose one value: this is an estimate
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
			return nil, nil, told{CauseNoHTTP2, errors.New("the target does not offer h2 (ALPN)")}
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
		return told{CauseForbidden, fmt.Errorf("address %q: %w", addr, err)}
	}
	if err := d.o.Guard(a.Addr().Unmap()); err != nil {
		return told{CauseForbidden, err}
	}
	return nil
}

func (d dialer) tlsConfig(u *url.URL) *tls.Config {
	c := d.o.TLS.Clone()
	if c == nil {
		c = &tls.Config{}
	}
	c.ServerName = cmp.Or(c.ServerName, u.Hostname())
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

// Families keeps the connections to each host on one version of IP, that of the first. A name may have
// addresses of both versions, and a net.Dialer takes the other one when a connection takes long. A limiter
// that counts by address would then have two clients. The zero value is ready; any goroutine may use it.
type Families struct {
	mu sync.Mutex
	of map[string]string
}

// Dial calls dial with network, or with the network of the version of IP that addr is kept on.
func (f *Families) Dial(ctx context.Context, network, addr string,
	dial func(ctx context.Context, network, addr string) (net.Conn, error)) (net.Conn, error) {
	f.mu.Lock()
	kept := f.of[addr]
	f.mu.Unlock()
	if kept != "" {
		return dial(ctx, kept, addr)
	}
	nc, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if kept = f.keep(addr, nc.RemoteAddr()); kept == version(nc.RemoteAddr()) {
		return nc, nil
	}
	nc.Close() // another one was faster
	return dial(ctx, kept, addr)
}

// keep returns the network that addr is kept on, which is that of at unless another one is kept already.
func (f *Families) keep(addr string, at net.Addr) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]string{}
	}
	f.of[addr] = cmp.Or(f.of[addr], version(at))
	return f.of[addr]
}

// version returns the network of the version of IP of an address; "" for what is no address of TCP.
func version(a net.Addr) string {
	switch tcp, ok := a.(*net.TCPAddr); {
	case !ok:
		return ""
	case tcp.IP.To4() != nil:
		return "tcp4"
	default:
		return "tcp6"
	}
}

// Authorization returns the value of Proxy-Authorization for the URL of a proxy; "" for none.
func Authorization(p *url.URL) string {
	if p.User == nil {
		return ""
	}
	password, _ := p.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(p.User.Username()+":"+password))
}

// viaProxy gives m the form that a proxy reads: an absolute target (RFC 9112 section 3.2.2).
func (m *message) viaProxy(p, u *url.URL) {
	m.target = u.Scheme + "://" + hostOf(u) + m.target
	if c := Authorization(p); c != "" {
		m.add("Proxy-Authorization", c)
	}
}

// hostOf returns the host of u as a Host field has it. The zone of an IPv6 address is left out: only this
// machine knows it (RFC 6874 section 4).
func hostOf(u *url.URL) string {
	host, end := u.Host, strings.IndexByte(u.Host, ']')
	if zone := strings.IndexByte(host, '%'); zone >= 0 && end > zone {
		return host[:zone] + host[end:]
	}
	return host
}

// hear keeps the first bytes that arrive on a connection.
func (c *Conn) hear() {
	if c.served == 0 && c.known == 0 {
		b, _ := c.br.Peek(min(c.br.Buffered(), len(c.opening)))
		c.known = copy(c.opening[:], b)
	}
}

// Spoken tests what a target speaks that answered nothing and ended the connections. It returns the word for
// HTTP/2 or TLS, "" if that is not known. A server of TLS that gets the preface of HTTP/2 hangs up without a
// word: nginx, HAProxy, Node. A note mentions the test, since a server of HTTP/1.1 may take the
// preface of HTTP/2 for a request with method PRI. A target behind a proxy is not tested.
func (t *Transport) Spoken(ctx context.Context) string {
	secure := t.o.URL.Scheme == "https"
	if t.o.HTTP2 && secure || t.o.Proxy != nil || t.answered.Load() || ctx.Err() != nil || !t.hungUp() {
		return ""
	}
	others := "HTTP/2, and TLS"
	if t.o.HTTP2 {
		others = "TLS"
	}
	t.Note("nothing was answered: rlcheck tested whether the target speaks %s", others)
	ctx, cancel := context.WithTimeout(ctx, min(time.Second, t.o.Timeout))
	defer cancel()
	if !t.o.HTTP2 && t.dialer.asked(ctx, speaksHTTP2) {
		return CauseHTTP2
	}
	greets := func(c net.Conn) bool {
		trusting := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // nothing is sent
		return tls.Client(c, trusting).HandshakeContext(ctx) == nil
	}
	if !secure && t.dialer.asked(ctx, greets) {
		return CauseWantsTLS
	}
	return ""
}

// asked opens a connection to the target for one test.
func (d dialer) asked(ctx context.Context, question func(net.Conn) bool) bool {
	c, err := d.raw(ctx, &Pool{}, address(d.o.URL))
	if err != nil {
		return false
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	return question(c)
}

// speaksHTTP2 sends the preface of HTTP/2 with empty settings. It tells whether settings come back (RFC 9113
// section 3.4).
func speaksHTTP2(c net.Conn) bool {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	if _, err := io.WriteString(c, preface); err != nil {
		return false
	}
	var b [9]byte
	_, err := io.ReadFull(c, b[:])
	return err == nil && CauseProtocol(b[:]) == CauseHTTP2
}

// carriers names what requests in flight occupy.
func carriers(o *Options) string {
	if o.HTTP2 {
		return "streams"
	}
	return "connections"
}

// via opens a connection for requests to u. It asks the proxy for a tunnel if the proxy cannot forward
// such requests itself.
func (d dialer) via(ctx context.Context, p *Pool, u *url.URL) (net.Conn, error) {
	if d.o.Proxy == nil {
		return d.raw(ctx, p, address(u))
	}
	nc, err := d.raw(ctx, p, address(d.o.Proxy))
	if err != nil {
		return nil, CauseOfProxy(err)
	}
	if u.Scheme == "http" && !d.o.HTTP2 {
		d.notes.once("forwarded", CauseForwarded)
		return nc, nil
	}
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	err = tunnel(nc, address(u), Authorization(d.o.Proxy))
	if !stop() {
		err = fmt.Errorf("the proxy did not answer CONNECT within %v: %w", d.o.Timeout, ctx.Err())
	}
	if err != nil {
		nc.Close()
		return nil, CauseOfProxy(err)
	}
	return nc, nil
}

// tunnel asks a proxy for a tunnel to host:port (RFC 9110 section 9.3.6).
func tunnel(nc net.Conn, to, credentials string) error {
	ask := "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n"
	if credentials != "" {
		ask += "Proxy-Authorization: " + credentials + "\r\n"
	}
	if _, err := io.WriteString(nc, ask+"\r\n"); err != nil {
		return err
	}
	br := bufio.NewReader(byByte{io.LimitReader(nc, maxHeader)})
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	switch {
	case err != nil:
		return fmt.Errorf("the proxy did not answer CONNECT: %w", err)
	case resp.ProtoMajor != 1:
		return fmt.Errorf("the proxy answered CONNECT in %s, want HTTP/1.1", resp.Proto)
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("the proxy answered CONNECT with %s", resp.Status)
	}
	return nil
}

// byByte reads one byte at a time. So it takes nothing that comes through the tunnel, in which a target may
// speak first.
type byByte struct{ io.Reader }

func (r byByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 1)]) }
