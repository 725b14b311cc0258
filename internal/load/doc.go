// Package load sends a schedule open loop and records what became of every request. It knows HTTP and no
// algorithm. Here are the phases: how each plays its arrivals or its clients, and how a recording is
// gathered. What they need has rooms of its own:
//
//	options     what a recording is asked to do
//	message     the bytes of requests; grpc: what gRPC says besides
//	transport   connections, and the requests on their way
//	pacing      the clock, and how the sender waits
//	journal     what is kept while it is recorded
//	audit       what the generator records of itself
//	cause       why requests got no answer, in a word
//
// The clock is the time since the recording started, monotonic. One goroutine, the pacer, waits for the due
// times and sends by itself. A request that finds no idle connection waits for the next one and is recorded
// late, as it was.
//
// Every request is recorded, those used for aiming too. Nothing is retried, no redirect followed, no proxy
// asked but one that is named, no compression negotiated.
//
// A recording that may become long is sorted into a file while it is made (long.go, timeline.Spool), so that
// memory does not grow with it; what stays is the plan.
package load
