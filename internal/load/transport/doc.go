// Package transport sends requests over connections of its own, and ends each: with what its answer says, or
// with the reason why there is none.
//
//	Shot   one request on its way                             shot.go
//	Pool   the connections of a partition                     pool.go, idle.go
//	Conn   one connection, or a stream of a link (HTTP/2)     conn.go, answer.go, link.go
//
// It knows HTTP, and neither phases nor schedules: whoever submits a shot is its Driver, and is told when it
// is over. A connection that is found closed before anything was written to it is replaced: nothing was sent
// then.
//
// The interval of an observation is taken on the connection, so that the target's decision lies inside,
// whatever the scheduler does to us:
//
//	Sent       before the write that completes the header block; a server may decide then, before a body
//	           arrives
//	FirstByte  after the read that returned the first byte of the final answer
//
// Over HTTP/2 many requests share a connection (link.go, internal/http2): Sent is read before the one write
// of all that leave together, FirstByte after the read that brought the first byte of the HEADERS frame.
//
// An answer that comes unasked puts those before it on its connection in doubt (doubt.go).
//
// Who reads depends on the connection (reading.go):
//
//	an event loop   HTTP/1.1 without TLS on Linux: one goroutine with epoll reads many connections, and its
//	                clients send their next requests from it
//	a goroutine     everything else: it sleeps in the network poller. A connection leaves its loop for
//	                one as soon as an answer is not whole, alone and plain.
//
// Note: with 64 clients that send at once when they are answered, a request took 1.6 to 2.0 times the
// processor time of one of wrk, which records nothing, when goroutines read all connections: each answer
// woke one, was asked for twice, and was parsed into maps. With event loops it takes 1.1 to 1.3 times. Of
// 7.5 us some 5 are the kernel's: a loop of epoll_wait, read and write alone, on a locked thread, without a
// parser or a record, takes 0.80 to 0.95 times what wrk takes, which calls epoll_ctl twice for a request
// besides. The rest is the record (1.2 us with its order at the end, its fields and the collector), the
// parser, the clock and the pools. So a recorder cannot take 0.80 times on the loopback device, where the
// sender pays for the whole way to the target.
package transport
