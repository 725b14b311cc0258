package scenario

import (
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/internal/spell"
)

// suggest returns `did you mean "x"?` for the word nearest to s, or "" where none is near enough: at most a
// third of its letters wrong.
func suggest(s string, words []string) string {
	s = strings.ToLower(s)
	if len(s) > 40 {
		return ""
	}
	best, least := "", len(s)
	for _, w := range words {
		if d := spell.Edits(s, w); d < least && d <= (max(len(s), len(w))+2)/3 {
			best, least = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// Suggest is what the messages of this package use, for the words of a command line: `did you mean "x"?` for
// the one of words that is nearest to s, or "" where none is near enough.
func Suggest(s string, words []string) string { return suggest(s, words) }

// oneOf lists words as a reader says them: a, b or c.
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
