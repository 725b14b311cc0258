package load

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/cause"
)

// errWantsTLS is the answer of a server that was asked in plain HTTP on a port for HTTPS.
var errWantsTLS = errors.New("the port wants TLS")

// asksForTLS tells whether the body that came with a 400 says that the port is for HTTPS.
func (c *conn) asksForTLS() bool {
	b, _ := c.br.Peek(min(c.br.Buffered(), 1024))
	return cause.SaysTLS(b)
}

// hear keeps what came first on a connection.
func (c *conn) hear() {
	if c.served == 0 && c.known == 0 {
		b, _ := c.br.Peek(min(c.br.Buffered(), len(c.opening)))
		c.known = copy(c.opening[:], b)
	}
}

// speaks remembers that the target answered on nc, in that version of HTTP. The origin does not count.
func (r *recorder) speaks(p *pool, nc net.Conn, http string) {
	if p.origin {
		return
	}
	if t, ok := nc.(*tls.Conn); ok {
		http += ", " + tls.VersionName(t.ConnectionState().Version)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.protocols[http] = true
}

// spoken asks a target that answered nothing, and ended the connections, whether it speaks HTTP/2 or TLS. A
// server of HTTP/1.1 may take the preface of HTTP/2 for a request of the method PRI: a note tells of it. It
// returns the word of what the target speaks, empty where that is not known.
func (r *recorder) spoken(ctx context.Context) string {
	if r.o.HTTP2 || r.answered.Load() || ctx.Err() != nil || !r.hungUp() {
		return ""
	}
	r.Note("nothing was answered: the target was asked whether it speaks HTTP/2, and TLS")
	ctx, cancel := context.WithTimeout(ctx, min(time.Second, r.o.Timeout))
	defer cancel()
	if r.asked(ctx, speaksHTTP2) {
		return cause.HTTP2
	}
	greets := func(c net.Conn) bool {
		trusting := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // nothing is sent
		return tls.Client(c, trusting).HandshakeContext(ctx) == nil
	}
	if r.o.URL.Scheme == "http" && r.asked(ctx, greets) {
		return cause.WantsTLS
	}
	return ""
}

// hungUp tells whether connections were ended or answered with what is no HTTP.
func (r *recorder) hungUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.words {
		if cause.HungUp(w) {
			return true
		}
	}
	return false
}

// asked opens a connection to the target for one question.
func (r *recorder) asked(ctx context.Context, question func(net.Conn) bool) bool {
	c, err := r.dialRaw(ctx, &pool{}, address(r.o.URL))
	if err != nil {
		return false
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	return question(c)
}

// speaksHTTP2 sends the preface of HTTP/2 with empty settings, and tells whether settings come back (RFC
// 9113 section 3.4).
func speaksHTTP2(c net.Conn) bool {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	if _, err := io.WriteString(c, preface); err != nil {
		return false
	}
	var b [9]byte
	_, err := io.ReadFull(c, b[:])
	return err == nil && cause.Protocol(b[:]) == cause.HTTP2
}
