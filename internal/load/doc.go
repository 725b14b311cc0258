// Package load sends a schedule open loop over connections of its own and records what became of every
// request. It knows HTTP and no algorithm.
//
// The clock is the time since the recording started, monotonic. The interval of an observation is taken on
// the connection:
//
//	Sent       before the write that completes the header block; a server may decide then, before a body
//	           arrives
//	FirstByte  after the read that returned the first byte of the final answer
//
// Over HTTP/2 many requests share a connection (link.go, internal/http2): Sent is read before the one write
// of all that leave together, FirstByte after the read that brought the first byte of the HEADERS frame.
//
// So the target's decision lies inside, whatever the scheduler does to us. One goroutine, the pacer, waits
// for the due times and writes by itself. Who reads depends on the connection (reading.go):
//
//	an event loop   HTTP/1.1 without TLS on Linux: one goroutine with epoll reads many connections, and its
//	                clients send their next requests from it
//	a goroutine     everything else: it sleeps in the network poller. A connection leaves its loop for
//	                one as soon as an answer is not whole, alone and plain.
//
// A request that finds no idle connection waits for the next one and is recorded late, as it was.
//
// Every request is recorded, those used for aiming too. Nothing is retried, no redirect followed, no proxy
// asked but one that is named, no compression negotiated. A connection that is found closed before anything
// was written to it is replaced: nothing was sent then.
//
// A recording that may become long is sorted into a file while it is made (long.go, timeline.Spool), so that
// memory does not grow with it; what stays is the plan.
//
// Note: with 64 clients that send at once when they are answered, a request took 1.6 to 2.0 times the
// processor time of one of wrk, which records nothing, when goroutines read all connections: each answer
// woke one, was asked for twice, and was parsed into maps. With event loops it takes 1.1 to 1.3 times. Of
// 7.5 us some 5 are the kernel's: a loop of epoll_wait, read and write alone, on a locked thread, without a
// parser or a record, takes 0.80 to 0.95 times what wrk takes, which calls epoll_ctl twice for a request
// besides. The rest is the record (1.2 us with its order at the end, its fields and the collector), the
// parser, the clock and the pools. So a recorder cannot take 0.80 times on the loopback device, where the
// sender pays for the whole way to the target.
package load
