// Package rlchecktest proves in a Go test that a handler, or a URL, keeps its rate limit:
//
//	func TestLimiter(t *testing.T) {
//		rlchecktest.Handler(t, limit(ok), "fixed-window,rate=100/1h", rlchecktest.Key("X-Api-Key"))
//	}
//
// [Handler] and [Make] run the bundled scenarios of the rlcheck command in a bubble of testing/synctest,
// against the handler and without a network. Hours pass in milliseconds, since all sleep when nobody works:
//
//	             +--------------------- bubble: time is virtual ----------------------+
//	scenario --->| load ---> pipes ---> net/http server ---> handler ---> its limiter |---> judge
//	burst        |  64 goroutines, which race for real            (time.Now, timers)  |    Pass, Fail
//	             +--------------------------------------------------------------------+
//
// Each scenario is a subtest. A Fail prints the requests that prove it, as the command does. No tolerance
// is needed, and nothing depends on how fast the machine is. Run it with -race too.
//
// # What can be in a bubble
//
// Handlers of net/http, and of what is built on it (chi, gin, echo), with stores in the memory of the
// process.
//
// A handler that was built before the test and starts no goroutine may be given to Handler, and to several
// tests. The clock of the bubble starts at the present, and goes on from one bubble to the next, so times
// that the handler has read stay in the past.
//
// A handler that starts goroutines or timers (to remove old clients, to refill) must be built in the bubble,
// by the function that is given to Make: what runs outside keeps real time, and virtual hours pass without
// it. If such goroutines exist, and a Fail may be their work, it is reported as Inconclusive, with the line
// that started them.
//
// What cannot be in a bubble: a store behind a socket (Redis, a database), whose clock is real, and a
// server that is no net/http handler (fasthttp, fiber), although their limiters may be tried behind an
// adaptor. Use [URL] for these. It sends the same scenarios over the wire in real time.
package rlchecktest
