package trial

import (
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// doubtCached makes the outcome of the answers of tl unknown that say that a cache gave them, and notes it.
func doubtCached(tl *timeline.Timeline) {
	var c headers.Caches
	for i := range tl.Observations {
		DoubtCached(&tl.Observations[i], &c)
	}
	if result.CacheNote(tl.Header.Notes) == "" && c.Hits > 0 {
		tl.Header.Notes = append(tl.Header.Notes, CacheNote(c))
	}
}

// DoubtCached makes the outcome of o unknown where its answer says that a cache gave it, and counts it in c.
// A limiter behind the cache did not decide on it, one before it may have.
//
//	client -- limiter? -- cache -- limiter? -- origin
func DoubtCached(o *timeline.Observation, c *headers.Caches) {
	if o.Answered && c.Gave(o.Seq, o.Fields.Get) {
		o.Outcome = timeline.Unknown
	}
}

// CacheNote is the note of a recording of which c counts the answers from caches.
func CacheNote(c headers.Caches) string {
	return fmt.Sprintf("%s: %d of %d (%s); they are no decisions of the limiter, and were left out"+askPast+
		"-H 'Cache-Control: no-cache', or a route that is not cached)",
		result.FromCaches, c.Hits, c.Answers, c.First)
}

// askPast begins the mend in the note of answers from a cache.
const askPast = " (ask past it: "

// BlameCache says of a scenario that its answers from a cache are why it could not be judged.
func BlameCache(out *result.Scenario) {
	note := result.CacheNote(out.Header.Notes)
	if note == "" || out.Verdict != verdict.Inconclusive || out.Uncounted() {
		return
	}
	detail, _, _ := strings.Cut(strings.TrimPrefix(note, timeline.OfTarget), askPast)
	out.Reason, out.Detail = verdict.TooFew, detail // the mend of the report says how
}
