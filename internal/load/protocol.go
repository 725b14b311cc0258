package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/http2"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// errWantsTLS is the answer of a server that was asked in plain HTTP on a port for HTTPS.
var errWantsTLS = errors.New("the port wants TLS")

// wantsTLS are what servers say in a 400 to plain HTTP on a port for HTTPS: Go, nginx, Apache, Tomcat.
var wantsTLS = [...]string{
	"HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port",
	"SSL-enabled server port", "requires TLS",
}

// asksForTLS tells whether the body that came with a 400 says that the port is for HTTPS.
func (c *conn) asksForTLS() bool {
	b, _ := c.br.Peek(min(c.br.Buffered(), 1024))
	return saysTLS(b)
}

func saysTLS(b []byte) bool {
	return slices.ContainsFunc(wantsTLS[:], func(s string) bool { return bytes.Contains(b, []byte(s)) })
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

// otherProtocol names the protocol that the first bytes of an answer belong to, if it is one that can be
// told; else empty.
func otherProtocol(b []byte) string {
	const alert, settings, goAway = 0x15, 4, 7
	switch {
	case len(b) >= 2 && b[0] == alert && b[1] == 3:
		return wordWantsTLS
	case len(b) >= 5 && b[0] == 0 && (b[3] == settings || b[3] == goAway):
		return wordHTTP2
	default:
		return ""
	}
}

// otherThanHTTP2 is the word for a target that did not begin with the settings of HTTP/2.
func otherThanHTTP2(e *http2.NotSpoken) string {
	switch {
	case otherProtocol(e.First) == wordWantsTLS || saysTLS(e.First):
		return wordWantsTLS
	case len(e.First) == 0 && (errors.Is(e.Err, os.ErrDeadlineExceeded) || errors.Is(e.Err,
		context.DeadlineExceeded)):
		return wordTimeout
	default:
		return wordNoHTTP2
	}
}

// spoken asks a target that answered nothing, and ended the connections, whether it speaks HTTP/2 or TLS. A
// server of HTTP/1.1 may take the preface of HTTP/2 for a request of the method PRI: a note tells of it. It
// returns the word of what the target speaks, empty where that is not known.
func (r *recorder) spoken(ctx context.Context) string {
	if r.o.HTTP2 || r.answered.Load() || ctx.Err() != nil || !r.hungUp() {
		return ""
	}
	r.note("nothing was answered: the target was asked whether it speaks HTTP/2, and TLS")
	ctx, cancel := context.WithTimeout(ctx, min(time.Second, r.o.Timeout))
	defer cancel()
	if r.asked(ctx, speaksHTTP2) {
		return wordHTTP2
	}
	greets := func(c net.Conn) bool {
		trusting := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // nothing is sent
		return tls.Client(c, trusting).HandshakeContext(ctx) == nil
	}
	if r.o.URL.Scheme == "http" && r.asked(ctx, greets) {
		return wordWantsTLS
	}
	return ""
}

// hungUp tells whether connections were ended or answered with what is no HTTP.
func (r *recorder) hungUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.words[wordEOF] || r.words[wordReset] || r.words[wordClosed] || r.words[wordMalformed]
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
	return err == nil && otherProtocol(b[:]) == wordHTTP2
}

// reword says of a request that a target hung up on what it speaks instead.
func reword(o *timeline.Observation, spoken string) {
	switch o.Error {
	case wordEOF, wordReset, wordClosed, wordMalformed:
		if spoken != "" && !o.Origin {
			o.Error = spoken
		}
	}
}
