package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
)

// rulebook returns docs/rules.md: every rule, with what a claim looks at to judge it, or why none does.
func rulebook() string {
	var seen, unseen strings.Builder
	for _, r := range headers.Rules() {
		about, _ := r.About()
		row := fmt.Sprintf("| `%s` | %s | %s | %s |", r, about.Level, about.Text, about.Source)
		if why := r.Unseen(); why != "" {
			fmt.Fprintf(&unseen, "%s %s |\n", row, why)
			continue
		}
		fmt.Fprintf(&seen, "%s %s |\n", row, r.Seen())
	}
	return "# Rules of a limiter's answers\n\nWritten by `make golden` from internal/headers. " +
		"`rlcheck explain ID` explains one. A rule of\nthe level convention stands in no standard. " +
		"The rules of the RateLimit fields are those of\n" + headers.Draft + ".\n\n" +
		"## Judged\n\n| rule | level | says | source | observed |\n|---|---|---|---|---|\n" + seen.String() +
		"\n## Not judged\n\n| rule | level | says | source | why not |\n|---|---|---|---|---|\n" +
		unseen.String()
}

// TestDocsHaveTheRules: docs/rules.md agrees with the rules. Each rule is judged, or says why not.
func TestDocsHaveTheRules(t *testing.T) {
	ids := map[headers.Rule]bool{}
	for _, r := range headers.Rules() {
		about, ok := r.About()
		if (r.Seen() == "") == (r.Unseen() == "") || !ok || about.Text == "" || about.Source == "" || ids[r] {
			t.Errorf("%s: observed %q, not judged %q: want one of them, a text, a source, and one row", r,
				r.Seen(), r.Unseen())
		}
		ids[r] = true
		claims, _, named := strings.Cut(r.Seen(), ":")
		first, _, _ := strings.Cut(claims, " ")
		if first = strings.TrimSuffix(first, ","); named && first != "every" && first != "the" &&
			result.KindOf(first) == "" {
			t.Errorf("%s: observed by %q, which is no claim", r, first)
		}
	}
	path, want := filepath.Join("..", "..", "docs", "rules.md"), rulebook()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/rules.md is not current (run make golden)")
	}
}
