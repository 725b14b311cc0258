package trial

import (
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// doubtCached makes the outcome of the answers of tl unknown that say that a cache gave them, and notes it.
func doubtCached(tl *timeline.Timeline) {
	var c headers.Caches
	if tl.Spool != nil {
		for o := range tl.All() {
			result.DoubtCached(o, &c)
		}
		if c.Hits > 0 {
			tl.Spool = tl.Spool.With(func(o *timeline.Observation) {
				result.DoubtCached(o, &headers.Caches{}) // counted above
			})
		}
		defer func(c headers.Caches) { tl.Header.Notes = result.NoteCaches(tl.Header.Notes, c) }(c)
	}
	for i := range tl.Observations {
		result.DoubtCached(&tl.Observations[i], &c)
	}
	tl.Header.Notes = result.NoteCaches(tl.Header.Notes, c)
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
