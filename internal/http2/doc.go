// Package http2 is one connection of an HTTP/2 client (RFC 9113) for a load generator. The generator must
// know when the target could decide. Frames and HPACK are those of golang.org/x/net. This package adds
// streams, flow control, and clocks.
//
// The clients of the standard library do not provide what a sound interval needs:
//
//   - When the bytes of a request left. With several streams on a connection their hooks fire after the
//     write: of 3,000 decisions up to 54 fell before it.
//   - One write for many requests. They write streams one by one, so a burst is many packets.
//
// Here the clock is read before the one write of all streams that are sent together, and after each read:
//
//	Send    clock, HEADERS 1, HEADERS 3, HEADERS 5 ... in one write    the left end of every interval
//	Serve   read, clock, frames       the right end: the read that brought the first byte of the HEADERS
//	        frame
//
// A misbehaving peer ends one stream or the connection, in bounded time and memory. Frames are at most 16
// KiB, header blocks 64 KiB. Frames that answer nothing are counted. Writes have a deadline.
package http2
