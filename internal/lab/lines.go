package lab

import (
	"net"
	"strings"
	"sync"
)

// LinesKey is the context key of the header lines of a request as they arrived, a func() []string. net/http
// keeps neither the case of a name nor the spaces around a value. The lines have no line ends. They are those
// of the request itself if its client sends no request before the last one was answered.
type LinesKey struct{}

// keepingListener is a listener whose connections keep what they read.
type keepingListener struct{ net.Listener }

// Accept waits for the next connection.
func (l keepingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &kept{Conn: c}, nil
}

// kept is a connection that keeps what was read since the last answer, up to the size of a header block.
type kept struct {
	net.Conn
	mu   sync.Mutex
	read []byte
}

// Read reads from the connection.
func (c *kept) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	c.read = append(c.read, b[:min(n, maxHeader-len(c.read))]...)
	c.mu.Unlock()
	return n, err
}

// forget begins the next request.
func (c *kept) forget() {
	c.mu.Lock()
	c.read = c.read[:0]
	c.mu.Unlock()
}

// lines returns the header lines of the request that was read last.
func (c *kept) lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, fields, _ := strings.Cut(string(c.read), "\r\n") // after the request line
	fields, _, _ = strings.Cut(fields, "\r\n\r\n")
	return strings.Split(fields, "\r\n")
}
