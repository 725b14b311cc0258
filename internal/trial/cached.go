package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// doubtCached makes the outcome of the answers of tl unknown that say that a cache gave them. A limiter
// behind the cache did not decide on them, one before it may have.
//
//	client -- limiter? -- cache -- limiter? -- origin
func doubtCached(tl *timeline.Timeline) {
	cached, answers, first := 0, 0, ""
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if !o.Answered {
			continue
		}
		answers++
		field, value, ok := headers.FromCache(o.Fields.Get)
		if !ok {
			continue
		}
		if cached++; first == "" {
			first = fmt.Sprintf("#%d has %s: %.40q", o.Seq, field, value)
		}
		o.Outcome = timeline.Unknown
	}
	said := func(n string) bool { return strings.HasPrefix(n, result.FromCaches) }
	if cached == 0 || slices.ContainsFunc(tl.Header.Notes, said) {
		return
	}
	tl.Header.Notes = append(tl.Header.Notes, fmt.Sprintf("%s: %d of %d (%s); they are no decisions of "+
		"the limiter, "+
		"and were left out"+askPast+"-H 'Cache-Control: no-cache', or a route that is not cached)",
		result.FromCaches, cached, answers, first))
}

// askPast begins the mend in the note of answers from a cache.
const askPast = " (ask past it: "

// blameCache says of a scenario that its answers from a cache are why it could not be judged.
func blameCache(out *result.Scenario, tl *timeline.Timeline) {
	i := slices.IndexFunc(tl.Header.Notes, func(n string) bool {
		return strings.HasPrefix(n,
			result.FromCaches)
	})
	if i < 0 || out.Verdict != verdict.Inconclusive || out.Uncounted() {
		return
	}
	detail, _, _ := strings.Cut(strings.TrimPrefix(tl.Header.Notes[i], timeline.OfTarget), askPast)
	out.Reason, out.Detail = verdict.TooFew, detail // the mend of the report says how
}
