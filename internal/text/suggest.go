package text

import (
	"fmt"
	"strings"
)

// Suggest returns `did you mean "x"?` for the one of words that is nearest to s, or "" where none is near
// enough: at most a third of its letters wrong. It is for the words of files and of command lines, where a
// wrong guess costs little. Of two words that are equally near, it is one that begins with s.
func Suggest(s string, words []string) string {
	s = strings.ToLower(s)
	if len(s) > 40 {
		return ""
	}
	best, least := "", len(s)
	for _, w := range words {
		d := Edits(s, w)
		nearer := d < least || d == least && best != "" && strings.HasPrefix(w, s)
		if nearer && d <= (max(len(s), len(w))+2)/3 {
			best, least = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}
