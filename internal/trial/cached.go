package trial

import (
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// seen is what a recording tells before it is judged: a long one is read once for all of it.
type seen struct {
	clock reading
	// unknown counts the requests without an outcome.
	unknown int
}

// doubtCached makes the outcome of the answers of tl unknown that say that a cache gave them, and notes it.
// It returns what else it has seen.
func doubtCached(tl *timeline.Timeline) (all seen) {
	var c headers.Caches
	for o := range tl.All() {
		result.DoubtCached(o, &c)
		all.clock.add(tl, o)
		if o.Outcome == timeline.Unknown {
			all.unknown++
		}
	}
	tl.Header.Notes = result.NoteCaches(tl.Header.Notes, c)
	if tl.Spool == nil || c.Hits == 0 {
		return all
	}
	doubt := func(o *timeline.Observation) { result.DoubtCached(o, &headers.Caches{}) } // counted above
	tl.Spool = tl.Spool.With(doubt)
	for i := range tl.Observations {
		doubt(&tl.Observations[i])
	}
	return all
}

// blameCache is BlameCache of a run, which is planned so that a limiter must deny: where all denials are
// hidden behind a cache, nothing is passed either.
func blameCache(out *result.Scenario) {
	if out.FromCache() && out.Verdict == verdict.Pass && out.Counts.Denied == 0 {
		out.Verdict = verdict.Inconclusive
	}
	BlameCache(out)
}

// BlameCache says of a scenario that its answers from a cache are why it could not be judged.
func BlameCache(out *result.Scenario) {
	if out.FromCache() && out.Verdict == verdict.Inconclusive && !out.Uncounted() {
		out.Reason, out.Detail = verdict.TooFew, out.CacheDetail() // the mend of the report says how
	}
}
