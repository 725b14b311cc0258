package report

import (
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Trouble says why a scenario is Inconclusive: the reason, what it means here, and what to do about it.
type Trouble struct{ Reason, Detail, Mend string }

// Troubles returns why s is Inconclusive: its own reason first, then different reasons of inconclusive
// claims. Empty for another verdict.
func Troubles(s *result.Scenario) []Trouble {
	if s.Verdict != result.Inconclusive {
		return nil
	}
	var out []Trouble
	add := func(r result.Reason, detail string) {
		t := Trouble{text.Clean(string(r)), text.Clean(strings.TrimSpace(detail)), Mend(s, r)}
		if slices.ContainsFunc(out, func(o Trouble) bool {
			return o.Reason == t.Reason &&
				o.Detail == t.Detail
		}) {
			return
		}
		if slices.ContainsFunc(out, func(o Trouble) bool { return o.Reason == t.Reason }) {
			t.Mend = "" // it is said already
		}
		out = append(out, t)
	}
	if s.Reason != "" || s.Detail != "" {
		add(s.Reason, s.Detail)
	}
	for i := range s.Claims {
		c := &s.Claims[i]
		if c.Unpromised != "" || c.Moot { // it is a note of the run
			continue
		}
		if c.Reason == result.UnclassifiedStatus && s.FromCache() { // a cache gave it, so by no rule
			continue
		}
		if c.Verdict == result.Inconclusive && (c.Text != "" || c.Reason != s.Reason) {
			add(c.Reason, c.ID+": "+c.Text)
		}
	}
	if len(out) == 0 {
		add(result.TooFew, "nothing was judged")
	}
	return out
}

// Line prints a trouble on one line, without its mend.
func (t Trouble) Line() string {
	return strings.Trim(t.Reason+": "+t.Detail, ": ")
}
