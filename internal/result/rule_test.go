package result

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/headers"
)

// TestRulesAreInTheRulebook: a rule that findings name by the kind of their claim is a rule that claims are
// judged by.
func TestRulesAreInTheRulebook(t *testing.T) {
	named := 0
	for _, l := range kinds()["rules"].Lines {
		named++
		name, kind, _ := strings.Cut(l.Rest, " ")
		if rule := headers.Rule(name); !slices.Contains(headers.Rules(), rule) || rule.Seen() == "" {
			t.Errorf("%s: rule %s: not in the rulebook, or not judged", l.Word, name)
		}
		if ClaimKind(l.Word).About() == "" {
			t.Errorf("rule %s: %s is no kind of claim", name, l.Word)
		}
		if kind != "" && Kind(kind).About() == "" {
			t.Errorf("%s: rule %s: %s is no kind of finding", l.Word, name, kind)
		}
	}
	if named == 0 {
		t.Error("no rule is named")
	}
}
