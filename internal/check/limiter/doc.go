// Package limiter has the limiters that are judged: one file for each limiter, one file for each axis. Each
// limiter has two faces.
//
// A Bound asks two questions of a history, in O(n log n). Were more requests admitted than any decision times
// allow? Is there a denial that no instant of its interval explains? A Bound may miss a contradiction; it
// never accuses a history that has an explanation (docs/theory.md, section 2).
//
// A Model is the limiter as a timed automaton. The exact search (package search) runs it on zones. On a zone
// of one point it is the limiter of package reference; a test compares the two.
//
// An axis (ban.go, ttl.go, settled.go, reserved.go, ranges.go) wraps both faces of another limiter.
package limiter
