package transport

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"time"
)

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
