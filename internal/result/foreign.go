package result

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Foreign begins the note of a recording in which no answer shows that the limiter decided it.
const Foreign = timeline.OfTarget + "the answers may not be those of the limiter: "

// NoteForeign returns notes, and behind them why the answers may not be the limiter's, if so. All redirect,
// such as to https or to a login, and nobody declared the status an admission. Or nothing was admitted, and
// errors of 500 and more count as denials, as of a proxy whose target is down.
func NoteForeign(notes []string, answers []timeline.StatusCount, declared bool) []string {
	why, elsewhere := "", func(x timeline.StatusCount) bool { return !x.Redirects() }
	switch {
	case len(answers) == 0:
	case !declared && !slices.ContainsFunc(answers, elsewhere):
		why = "all redirect"
	case broken(answers):
		why = "none admits, and some are errors of 500 and more"
	}
	if why == "" {
		return notes
	}
	return append(notes[:len(notes):len(notes)], Foreign+why)
}

// ForeignDetail returns what such a note says, as the reason of an Inconclusive. Empty: notes have none.
func ForeignDetail(notes []string) string {
	for _, n := range notes {
		if strings.HasPrefix(n, Foreign) {
			return strings.TrimPrefix(n, timeline.OfTarget)
		}
	}
	return ""
}

// Broken tells whether nothing was admitted, and some denials may be errors of the server.
func (s *Scenario) Broken() bool { return broken(s.Statuses) }

func broken(answers []timeline.StatusCount) bool {
	admits := func(x timeline.StatusCount) bool { return x.Outcome == timeline.Allowed }
	return !slices.ContainsFunc(answers, admits) && slices.ContainsFunc(answers, timeline.StatusCount.Breaks)
}

// FromCaches begins the note of a recording in which a cache gave some answers.
const FromCaches = timeline.OfTarget + "answers came from a cache"

// askPast begins the remedy in that note.
const askPast = " (get past it: "

// DoubtCached makes the outcome of o unknown if a cache gave its answer, which gave tells (headers.Caches). A
// limiter behind the cache did not decide it. A limiter in front of the cache may have.
//
//	client -- limiter? -- cache -- limiter? -- origin
func DoubtCached(o *timeline.Observation, gave func(n int, get func(string) (string, bool)) bool) {
	if o.Answered && gave(o.Seq, o.Fields.Get) {
		o.Outcome = timeline.Unknown
	}
}

// NoteCaches returns notes, and behind them the note of the answers that caches gave (headers.Caches.Text).
// It returns notes if there are none, or a note tells of them.
func NoteCaches(notes []string, answers string) []string {
	if answers == "" || CacheNote(notes) != "" {
		return notes
	}
	return append(notes[:len(notes):len(notes)], fmt.Sprintf("%s: %s left out: the limiter did not decide "+
		"them"+askPast+"--past-caches, or a route that is not cached)", FromCaches, answers))
}

// CacheNote returns the note that begins with FromCaches, or "".
func CacheNote(notes []string) string {
	for _, n := range notes {
		if strings.HasPrefix(n, FromCaches) {
			return n
		}
	}
	return ""
}

// FromCache tells whether a cache gave answers of s. These are not judged.
func (s *Scenario) FromCache() bool { return CacheNote(s.Header.Notes) != "" }

// CacheDetail says how many answers of s came from a cache, as the reason of an Inconclusive. Empty: none
// did.
func (s *Scenario) CacheDetail() string {
	detail, _, _ := strings.Cut(strings.TrimPrefix(CacheNote(s.Header.Notes), timeline.OfTarget), askPast)
	return detail
}
