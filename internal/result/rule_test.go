package result

import (
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/headers"
)

// TestRulesAreInTheRulebook: a rule that findings name by the kind of their claim is a rule that claims are
// judged by.
func TestRulesAreInTheRulebook(t *testing.T) {
	for kind, of := range rules {
		for _, name := range of {
			if rule := headers.Rule(name); !slices.Contains(headers.Rules(), rule) || rule.Seen() == "" {
				t.Errorf("%v: rule %s: not in the rulebook, or not judged", kind, name)
			}
		}
	}
}
