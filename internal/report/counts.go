package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// limitText prints the declared limit of s as a SPEC. Empty: none is declared.
func limitText(s *result.Scenario) string {
	if len(s.Limit) == 0 {
		return ""
	}
	return text.Clean(s.Limit.String())
}

// mostAnswers is how many statuses, and how many reasons of missing answers, are listed.
const mostAnswers = 6

// answersText says how many answers had which status and outcome, and why requests had none, the most
// frequent first: 128 × 429 (denied), 52 × 200 (allowed); not answered: 3 × timeout. Empty: neither is known.
func answersText(s *result.Scenario) string {
	statuses, silences := map[string]int{}, map[string]int{}
	known, t := s.Statuses, s.Whole()
	if len(known) == 0 && t != nil {
		known = t.Statuses()
	}
	for _, x := range known {
		statuses[fmt.Sprintf("%d (%s)", x.Status, x.Outcome)] += x.Answers
	}
	if t != nil {
		for i := range t.Observations {
			if o := &t.Observations[i]; !o.Answered {
				silences[cmp.Or(text.Clean(o.Error), "no error is known")]++
			}
		}
	}
	var parts []string
	if len(statuses) > 0 {
		parts = append(parts, strings.Join(frequencies(statuses), ", "))
	}
	if len(silences) > 0 {
		parts = append(parts, "not answered: "+strings.Join(frequencies(silences), ", "))
	}
	return strings.Join(parts, "; ")
}

// frequencies prints how often each word occurs, the most frequent first.
func frequencies(n map[string]int) []string {
	words := slices.SortedFunc(maps.Keys(n), func(a, b string) int {
		return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b))
	})
	var out []string
	for _, w := range words[:min(len(words), mostAnswers)] {
		out = append(out, text.Thousands(n[w])+" × "+w)
	}
	if rest := len(words) - mostAnswers; rest > 0 {
		out = append(out, fmt.Sprintf("%d more kinds", rest))
	}
	return out
}
