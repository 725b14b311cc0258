// Package eventloop reads many connections in one goroutine with epoll(7). It parses answers of HTTP/1.1 that
// arrive whole in one read, but does not interpret them. It works on Linux; elsewhere New returns nil.
//
// A connection joins a loop and may leave it for good:
//
//	net.Conn --Join--> Conn --Leave--> net.Conn
//	                    |
//	             Handler.Ready, Handler.Gone, on the thread of the loop
//
// So the loop does what is common and quick. Goroutines do what would have to wait.
package eventloop

import "time"

// Handler gets what arrives on a connection. The loop calls it from its thread and reads nothing meanwhile,
// so it must not wait.
type Handler interface {
	// Ready is called with the bytes of one read, 1 to Most of them. came is a time by which all of them had
	// arrived: the kernel's stamp if it can be used, or else read, the clock after that read. b is valid only
	// during the call.
	Ready(b []byte, came, read time.Duration)
	// Gone is called once, unless the connection leaves the loop. The connection has ended, and its
	// descriptor is closed. err is io.EOF, net.ErrClosed after Close, or a *net.OpError.
	Gone(err error)
}

// Most is the most bytes of one read.
const Most = 4096
