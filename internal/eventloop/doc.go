// Package eventloop reads many connections in one goroutine of its own with epoll(7), and knows the answers
// of HTTP/1.1 that come whole in one read. It knows nothing of what they mean. It exists on Linux; elsewhere
// New returns nil.
//
// A connection joins a loop and may leave it for good:
//
//	net.Conn --Join--> Conn --Leave--> net.Conn
//	                    |
//	             Handler.Ready, Handler.Gone, on the thread of the loop
//
// So the loop has what is common and quick, and goroutines have what would have to wait.
package eventloop

import "time"

// Handler gets what comes on a connection. The loop calls it from its thread and nobody reads meanwhile: it
// must not wait.
type Handler interface {
	// Ready is called with what one read brought, at least a byte and at most Most, and the clock after that
	// read. b is the loop's when it returns.
	Ready(b []byte, at time.Duration)
	// Gone is called once, unless the connection leaves: it ended, and its descriptor is closed. err is
	// io.EOF, net.ErrClosed after Close, or a *net.OpError.
	Gone(err error)
}

// Most is how many bytes one read brings at most.
const Most = 4096
