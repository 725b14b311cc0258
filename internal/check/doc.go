// Package check judges a timeline: could the declared limiter have produced it? It knows algorithms and no
// HTTP.
//
// A recording becomes a history for each partition and policy (history.go): closed intervals of decision
// times, widened by what the clocks leave open. Judge (judge.go) asks in this order, and stops where it finds
// something:
//
//	bounds        Could so many be admitted, could this one be denied? (bound.go) One file a kind of
//	              limiter: bucket, queue, log,
//	              fixed, ring, first, refresh, counter and anchored, completion. What changes a policy wraps
//	              its bound: ban,
//	              expiring (with forgetting), axes, ranges.
//	phases        Where windows may begin anywhere, boxes of phases are refuted one by one (phase.go),
//	              exactly too
//	              (phaseexact.go), several policies' at once (several.go).
//	exact search  Is there one order and one time for each decision that explains it all? (exact.go,
//	              frontier.go, zone.go)
//	              One model a kind of limiter: exactmodel.go, model*.go; around.go for what wraps one,
//	              product.go and joint.go for
//	              several, flight.go for what is told of completions. story.go finds an easy explanation
//	              first.
//
// What was found becomes a Judgement (judgement.go, package verdict): the fewest requests that prove it
// (proof.go, witness.go; of several partitions, sharedproof.go; where requests place the windows, placed.go,
// links.go), the arithmetic in a sentence (sentence.go), a policy that would explain it (hint.go); and what a
// pass is worth (measure.go, windowmeasure.go, phasemeasure.go).
//
// Stream (stream.go) judges recordings that are too large to hold. Its observations lie on tapes (tape.go),
// in memory or in a file (store.go), which are read as often as needed. What is small is judged as by Judge;
// a large partition in pieces, each by the same bounds (pieceplan.go, pieces.go, level.go, placement.go,
// stretches.go, region.go, survivors.go), and, where a span of any length may hold too many admissions, in
// one sweep over all of them (overall.go, overfirst.go, overexpiring.go). Recordings cut out of traffic lose
// their edges (edges.go), and so do pieces. Where others use the same partitions, what they may have done is
// left to them (others.go).
package check
