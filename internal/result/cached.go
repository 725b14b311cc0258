package result

import (
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// FromCaches begins the note of a recording with answers that a cache gave.
const FromCaches = timeline.OfTarget + "answers came from a cache"

// askPast begins the mend in that note.
const askPast = " (get past it: "

// DoubtCached makes the outcome of o unknown where its answer says that a cache gave it, and counts it in c.
// A limiter behind the cache did not decide on it, one before it may have.
//
//	client -- limiter? -- cache -- limiter? -- origin
func DoubtCached(o *timeline.Observation, c *headers.Caches) {
	if o.Answered && c.Gave(o.Seq, o.Fields.Get) {
		o.Outcome = timeline.Unknown
	}
}

// NoteCaches returns notes, and behind them that of the answers that c counts, where there are any and no
// note tells of them.
func NoteCaches(notes []string, c headers.Caches) []string {
	if c.Hits == 0 || CacheNote(notes) != "" {
		return notes
	}
	return append(notes[:len(notes):len(notes)], fmt.Sprintf("%s: %d of %d (%s) left out: the limiter "+
		"did not decide them"+askPast+"--past-caches, or a route that is not cached)",
		FromCaches, c.Hits, c.Answers, c.First))
}

// CacheNote returns the note that begins with FromCaches; empty where none of them does.
func CacheNote(notes []string) string {
	for _, n := range notes {
		if strings.HasPrefix(n, FromCaches) {
			return n
		}
	}
	return ""
}

// FromCache tells whether answers of s came from a cache: they are left out of what is judged.
func (s *Scenario) FromCache() bool { return CacheNote(s.Header.Notes) != "" }

// CacheDetail says how many answers of s came from a cache, as the reason of an Inconclusive; empty: none.
func (s *Scenario) CacheDetail() string {
	detail, _, _ := strings.Cut(strings.TrimPrefix(CacheNote(s.Header.Notes), timeline.OfTarget), askPast)
	return detail
}
