// Package rlcheck judges rate limiters: could the declared limit have given these answers?
//
// A client knows when it sent a request and when the answer had come. The limiter decided at some instant
// between the two, and in an order that nobody saw:
//
//	client a   |--------- allowed ---------|
//	client a        |--- denied ---|
//	client a              |------- allowed -------|
//	           ---------------------------------------> time
//	           sent        decided?         answered
//
// [Limit.Judge] looks for decision times in these intervals, and an order of them, that the limit explains:
//
//	requests ---> Judge ---> Pass          some do, and too much would have been noticed
//	                    ---> Fail          none do: Proof has the few requests that show it
//	                    ---> Inconclusive  too little was asked or answered to tell
//
// So a Fail is a proof and never a matter of noise, and there is no tolerance to choose. A Pass says how
// closely the limit was measured. [Limit.Decide] is the other direction: what a right limiter answers.
//
//	requests ---> Decide ---> allowed, denied, remaining, retry after
//
// A limit is written as in the rlcheck command: "token-bucket,rate=10/s,burst=20", or "any:rate=100/1m" for
// those who promise a number and no algorithm. See [ParseLimit].
//
// Package rlchecktest makes the requests too: it tests an http.Handler in virtual time, or a URL.
//
// The package uses the standard library alone. docs/theory.md says how a recording is judged.
package rlcheck
