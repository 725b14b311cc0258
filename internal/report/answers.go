package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// mostAnswers is how many statuses, and how many kinds of silence, are told.
const mostAnswers = 6

// answersText says how many answers had which status, and why requests had none, the most frequent first:
// 128 × 429, 52 × 200; 3 unanswered (timeout). Empty without a recording.
func answersText(t *timeline.Timeline) string {
	if t == nil {
		return ""
	}
	statuses, silences := map[string]int{}, map[string]int{}
	for i := range t.Observations {
		switch o := &t.Observations[i]; {
		case !o.Answered:
			silences[cmp.Or(plain(o.Error), "no error is known")]++
		case o.Status == 0:
			statuses["an answer of unknown status"]++
		default:
			statuses[fmt.Sprint(o.Status)]++
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
		out = append(out, thousands(n[w])+" × "+w)
	}
	if rest := len(words) - mostAnswers; rest > 0 {
		out = append(out, fmt.Sprintf("%d more kinds", rest))
	}
	return out
}
