// Package check judges a timeline: could the declared limiter have produced it? It knows algorithms and no
// HTTP. The theory is in docs/theory.md.
//
// Its rooms, each importing only those above it:
//
//	zone      clock values as difference bounds
//	history   one partition: closed intervals of decision times; the tape of a large one
//	limiter   one file a limiter, one file an axis: the bound, and the model that the search runs
//	search    is there one order and one time for each decision that explains everything?
//	phases    where windows may begin anywhere: boxes of phases, refuted one by one
//	witness   the fewest requests that prove a finding, and the sentence about them
//	judge     one recording in memory: bounds, then phases, then the search; what a PASS is worth
//	check     Judge, Stream and Panel; what else would explain a recording that fails
//
// To add a limiter, write its file in limiter: its Bound, its Model, and the kind that has both. Then list
// the kind in kinds. To add an axis, write a file that wraps the Bound and the Model of another limiter, as
// ttl.go and ban.go do.
package check
