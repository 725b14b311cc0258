package trial

import (
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// seen is what one pass over a recording collects before the judge runs. A long recording is read only once
// for it.
type seen struct {
	clock reading
	// unknown counts the requests without an outcome.
	unknown int
}

// doubtCached sets the outcome of answers that came from a cache to Unknown. It adds notes about them, and
// about answers that may not be the limiter's. It returns what else it collected on the way.
func doubtCached(tl *timeline.Timeline, s *scenario.Scenario) (all seen) {
	var c headers.Caches
	var answers timeline.StatusTally
	for o := range tl.All() {
		result.DoubtCached(o, c.Gave)
		all.clock.add(tl, o)
		answers.Add(o)
		if o.Outcome == timeline.Unknown {
			all.unknown++
		}
	}
	tl.Header.Notes = result.NoteForeign(result.NoteCaches(tl.Header.Notes, c.Text()), answers.Statuses(),
		len(s.Allowed) > 0)
	if tl.Spool == nil || c.Hits == 0 {
		return all
	}
	again := new(headers.Caches) // what it counts is counted above
	doubt := func(o *timeline.Observation) { result.DoubtCached(o, again.Gave) }
	tl.Spool = tl.Spool.With(doubt)
	for i := range tl.Observations {
		doubt(&tl.Observations[i])
	}
	return all
}

// blameCache is BlameCache for a planned run, in which a limiter must deny. If a cache may hide all denials,
// a Pass becomes Inconclusive.
func blameCache(out *result.Scenario) {
	if out.FromCache() && out.Verdict == result.Pass && out.Counts.Denied == 0 {
		out.Verdict = result.Inconclusive
	}
	BlameCache(out)
}

// BlameCache gives answers from a cache as the reason (too-few) of an Inconclusive scenario.
func BlameCache(out *result.Scenario) {
	if out.FromCache() && out.Verdict == result.Inconclusive && !out.Uncounted() {
		out.Reason, out.Detail = result.TooFew, out.CacheDetail() // the mend of the report says how
	}
}
