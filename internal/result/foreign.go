package result

import (
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
