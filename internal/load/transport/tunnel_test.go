package transport

import (
	"bytes"
	"io"
	"net"
	"regexp"
	"testing"
)

// answering is a connection to a proxy that answers with fixed bytes to anything.
type answering struct {
	net.Conn
	rest io.Reader
}

func (*answering) Write(p []byte) (int, error)  { return len(p), nil }
func (c *answering) Read(p []byte) (int, error) { return c.rest.Read(p) }

var statusLine = regexp.MustCompile(`HTTP/1\.[0-9] +([0-9]{3})`)

// FuzzTunnel lets a proxy answer CONNECT with arbitrary bytes. A tunnel exists only after a 2xx, and no byte
// that comes through the tunnel is read as part of the answer.
func FuzzTunnel(f *testing.F) {
	for _, s := range []string{"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno",
		"HTTP/1.1 200 OK\r\n\r\nearly", "HTTP/1.0 204\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		c := &answering{rest: bytes.NewReader(answer)}
		if err := tunnel(c, "x:443", "Basic eA=="); err == nil && !statusLine.Match(answer) {
			t.Errorf("%q opened a tunnel", answer)
		}
	})
}
