// Package transport sends requests over its own connections. It ends each request with the outcome of its
// answer, or with the reason why there is none (cause.go). It has what sending takes: the options of
// a recording (Options), the bytes of requests (Requests), the clock and the pacers that wait until a request
// is due (Pacer), the event loops that read many connections of HTTP/1.1 on one thread (Loop), the journal
// that passes events on (Recorder), and what the generator records about itself (Usage, Stalls, Lag).
//
//	Shot   one request in flight                              conn.go
//	Pool   the connections of a partition                     pool.go, idle.go
//	Conn   one connection, or a stream of a link (HTTP/2)     conn.go, answer.go, link.go
//
// It knows HTTP, but neither phases nor schedules. Whoever submits a shot is its Driver, and is told when the
// shot is over. If a connection turns out to be closed before anything was written to it, another one takes
// its place: nothing was sent then.
//
// The interval of an observation is measured at the connection. So the target's decision lies inside it,
// however late goroutines are scheduled:
//
//	Sent       before the write that completes the header block; a server may decide then, before a body
//	           arrives
//	FirstByte  after the first byte of the final answer came: by the kernel's stamp on an event loop, or
//	           else after the read that returned it
//
// Over HTTP/2 many requests share a connection (link.go, internal/http2). Sent is then the time before the
// one write of all requests that leave together. FirstByte is the time after the read that brought the first
// byte of the HEADERS frame.
//
// An unrequested answer puts the answers before it on its connection in doubt (notes.go).
//
// The connection decides who reads it (reading.go):
//
//	an event loop   HTTP/1.1 without TLS on Linux: one goroutine with epoll reads many connections, and its
//	                clients send their next requests from it
//	a goroutine     everything else: it sleeps in the network poller. A connection leaves its loop for
//	                one as soon as an answer is not whole, alone and plain.
//
// # Event loops
//
// A connection joins a loop and may leave it for good:
//
//	net.Conn --Join--> Conn --Leave--> net.Conn
//	                    |
//	             Handler.Ready, Handler.Gone, on the thread of the loop
//
// So the loop does what is common and quick. Goroutines do what would have to wait.
//
// # gRPC
//
//	HEADERS :status 200   DATA   HEADERS grpc-status 8
//	                             |- the decision is known to have been made here, not before
//
// So the interval of such a request ends with its trailers. An answer without a body has them in its only
// header block.
package transport
