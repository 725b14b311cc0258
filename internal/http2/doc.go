// Package http2 is one connection of an HTTP/2 client (RFC 9113) for a generator that must know when the
// target could decide. Frames and HPACK are those of golang.org/x/net; this package adds streams, flow
// control, and clocks.
//
// The clients of the standard library do not tell what a sound interval needs:
//
//   - When the bytes of a request left. With several streams on a connection their hooks fire after the
//     write: of 3,000 decisions up to 54 fell before it.
//   - One write for many requests. Their streams are written one by one, so a burst is many packets.
//
// Here the clock is read before the one write of all streams that are sent together, and after each read:
//
//	Send    clock, HEADERS 1, HEADERS 3, HEADERS 5 ... in one write    the left end of every interval
//	Serve   read, clock, frames       the right end: the read that brought the first byte of the HEADERS
//	        frame
//
// What a peer does wrong ends one stream or the connection, in bounded time and memory: frames are at most 16
// KiB, header blocks 64 KiB, frames that answer nothing are counted, writes have a deadline.
package http2
