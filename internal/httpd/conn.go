package httpd

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// The states of a connection: it waits for a request, it handles one, or it was closed while it waited.
const (
	connIdle int32 = iota
	connBusy
	connEnded
)

const (
	// startBuffer is the size of the first buffer of a connection.
	startBuffer = 4 << 10
	// maxDrain is the most bytes of a body that are read to reach the next request.
	maxDrain = 256 << 10
	// armEvery is how long a deadline stays unchanged. Setting one for every request costs more than it
	// brings.
	armEvery = 5 * time.Second
)

// leanConn is a connection of a lean server.
type leanConn struct {
	server *lean
	conn   net.Conn
	state  atomic.Int32
	// buffer[from:to] was read and not used yet.
	buffer   []byte
	from, to int
	// armed is when the deadline for reading was last set.
	armed   time.Time
	head    head
	request *http.Request
	url     url.URL
	writer  leanWriter
	hangUp  hangUp
	remote  string
}

func newLeanConn(s *lean, nc net.Conn, number uint64) *leanConn {
	c := &leanConn{server: s, conn: nc, buffer: make([]byte, startBuffer), remote: nc.RemoteAddr().String()}
	c.hangUp = hangUp{conn: c, number: number, gone: make(chan struct{})}
	c.request = new(http.Request).WithContext(&c.hangUp)
	c.writer.header = http.Header{}
	return c
}

// serve answers the requests of the connection, one after the other.
func (c *leanConn) serve() {
	defer c.server.remove(c)
	defer c.conn.Close()
	for {
		block, refused := c.readHead()
		if refused.status != 0 {
			c.refuse(refused)
			return
		}
		if block == "" {
			return
		}
		if refused = c.head.parse(block); refused.status == 0 {
			refused = c.prepare()
		}
		if refused.status != 0 {
			c.refuse(refused)
			return
		}
		if !c.answer() {
			return
		}
		// Close and Shutdown set closing before they look at the state, so one of the two sides ends the
		// connection.
		c.state.Store(connIdle)
		if c.server.closing.Load() && c.state.CompareAndSwap(connIdle, connEnded) {
			return
		}
	}
}

// answer lets the handler answer the request and reports whether the connection goes on.
func (c *leanConn) answer() bool {
	last := c.head.close
	if c.head.expect && c.head.length != 0 {
		// The handler reads no body. Nobody knows whether the client will send it without a 100 (Continue).
		last = true
	}
	c.writer.reset()
	c.hangUp.begin()
	c.handle()
	c.hangUp.end()
	if c.writer.status == 0 {
		// The client left before there was an answer, or the handler gave none.
		return false
	}
	if _, err := c.conn.Write(c.writer.finish(&c.head, last)); err != nil || last {
		if err == nil && c.head.length != 0 {
			c.linger()
		}
		return false
	}
	return c.drain()
}

// handle lets the handler answer. A handler that panics with http.ErrAbortHandler gives no answer.
func (c *leanConn) handle() {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			c.writer.reset()
		default:
			panic(v)
		}
	}()
	c.server.handler.ServeHTTP(&c.writer, c.request)
}

// refuse answers bytes that are not a valid request.
func (c *leanConn) refuse(r refusal) {
	c.writer.reset()
	c.writer.header.Set("Content-Type", "text/plain; charset=utf-8")
	c.writer.status, c.writer.body = r.status, append(c.writer.body, r.why+"\n"...)
	if _, err := c.conn.Write(c.writer.finish(&head{method: http.MethodGet, minor: 1}, true)); err == nil {
		c.linger()
	}
}

// linger lets the client read the answer. Closing a connection with unread bytes resets it, and the answer
// may be lost.
func (c *leanConn) linger() {
	half, ok := c.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil ||
		c.conn.SetReadDeadline(time.Now().Add(500*time.Millisecond)) != nil {
		return
	}
	// What still arrives does not matter. An error ends the wait like the end of the stream.
	_, _ = io.CopyN(io.Discard, c.conn, maxDrain)
}

// readHead returns the next header block. It returns "" if the client has no more requests.
func (c *leanConn) readHead() (string, refusal) {
	searched, late := 0, false
	for {
		// Empty lines before a request are skipped (RFC 9112 section 2.2).
		for searched == 0 && c.from < c.to && (c.buffer[c.from] == '\n' || c.buffer[c.from] == '\r') {
			c.from++
		}
		if c.from < c.to {
			if c.state.Load() == connIdle && !c.state.CompareAndSwap(connIdle, connBusy) {
				return "", refusal{}
			}
			if n := endOfHead(c.buffer[c.from:c.to], searched); n > 0 {
				if late {
					c.armed = time.Time{}
				}
				block := string(c.buffer[c.from : c.from+n])
				c.from += n
				return block, refusal{}
			}
			searched = c.to - c.from
			if searched >= maxHeader {
				return "", refusal{http.StatusRequestHeaderFieldsTooLarge,
					"a header block has at most 65536 bytes"}
			}
			if !late {
				late = true
				c.arm(headerTimeout)
			}
		} else if time.Since(c.armed) > armEvery {
			c.arm(idleTimeout)
		}
		if err := c.fill(); err != nil {
			if searched > 0 && isTimeout(err) {
				return "", refusal{http.StatusRequestTimeout, "the header block did not end"}
			}
			return "", refusal{}
		}
	}
}

// arm sets the deadline for reading.
func (c *leanConn) arm(d time.Duration) {
	c.armed = time.Now()
	// An error shows at the next read.
	_ = c.conn.SetReadDeadline(c.armed.Add(d))
}

// fill reads once more into the buffer, and enlarges the buffer if it is full.
func (c *leanConn) fill() error {
	switch {
	case c.from == c.to:
		c.from, c.to = 0, 0
	case c.to == len(c.buffer) && c.from > 0:
		c.to = copy(c.buffer, c.buffer[c.from:c.to])
		c.from = 0
	}
	if c.to == len(c.buffer) {
		larger := make([]byte, min(2*len(c.buffer), maxHeader+startBuffer))
		c.to = copy(larger, c.buffer[:c.to])
		c.buffer = larger
	}
	n, err := c.conn.Read(c.buffer[c.to:])
	c.to += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// endOfHead returns the length of the header block at the beginning of b, or 0 if it is incomplete. The first
// `searched` bytes are known to hold no end.
func endOfHead(b []byte, searched int) int {
	i := max(0, searched-3)
	for {
		j := bytes.IndexByte(b[i:], '\n')
		if j < 0 {
			return 0
		}
		i += j + 1
		if i < len(b) && b[i] == '\n' {
			return i + 1
		}
		if i+1 < len(b) && b[i] == '\r' && b[i+1] == '\n' {
			return i + 2
		}
	}
}

// prepare makes the request from the head.
func (c *leanConn) prepare() refusal {
	h := &c.head
	u, err := c.parseURI(h.uri, h.method)
	if err != nil {
		return badRequest("the target of the request is no URL")
	}
	if u.Host != "" {
		h.host = u.Host // RFC 9112 section 3.2.2
	}
	r := c.request
	r.Method, r.URL, r.Host, r.RequestURI, r.Header = h.method, u, h.host, h.uri, h.header
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, h.minor
	if h.minor == 0 {
		r.Proto = "HTTP/1.0"
	}
	r.RemoteAddr, r.ContentLength, r.Close, r.Body = c.remote, h.length, h.close, http.NoBody
	return refusal{}
}

// parseURI parses the target of a request. A plain path takes a short cut.
func (c *leanConn) parseURI(uri, method string) (*url.URL, error) {
	if uri[0] == '/' && !strings.ContainsAny(uri, "%?#;@:") && !strings.HasPrefix(uri, "//") {
		c.url = url.URL{Path: uri}
		return &c.url, nil
	}
	if method == http.MethodConnect && uri[0] != '/' {
		uri = "http://" + uri
	}
	return url.ParseRequestURI(uri)
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}
