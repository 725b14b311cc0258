// Package check judges a timeline: could the declared limiter have produced it? It knows algorithms and no
// HTTP. The theory is in docs/theory.md.
//
// Judge takes a recording in memory; a Stream or a Panel takes one that may be larger. The way of a
// recording:
//
//	history   one partition: closed intervals of decision times; the tape of a large one
//	limiter   one file a limiter, one file an axis: the bound, and the model that the search runs
//	search    is there one order and one time for each decision that explains everything?
//	check     bounds, then phases of windows, then the search (Case); the fewest requests that prove
//	          a finding, and the sentence about them (Proof); what a PASS is worth (Gauge)
//
// To add a limiter, write its file in limiter: its Bound, its Model, and the kind that has both. Then list
// the kind in kinds. To add an axis, write a file that wraps the Bound and the Model of another limiter, as
// ttl.go and ban.go do.
package check
