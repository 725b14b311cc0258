package scenario

import (
	"fmt"
	"strings"
)

// suggest returns `did you mean "x"?` for the word nearest to s, or "" where none is near enough: at most a third of its
// letters wrong.
func suggest(s string, words []string) string {
	s = strings.ToLower(s)
	if len(s) > 40 {
		return ""
	}
	best, least := "", len(s)
	for _, w := range words {
		if d := distance(s, w); d < least && d <= (max(len(s), len(w))+2)/3 {
			best, least = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// Suggest is what the messages of this package use, for the words of a command line: `did you mean "x"?` for the one of
// words that is nearest to s, or "" where none is near enough.
func Suggest(s string, words []string) string { return suggest(s, words) }

// distance is the number of bytes to insert, delete, replace or swap with a neighbour to turn a into b (optimal string
// alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}

// oneOf lists words as a reader says them: a, b or c.
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
