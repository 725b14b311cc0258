package claim

import (
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestFindingsNameRules: a rule that a finding names is in the rulebook, and is one that claims judge.
func TestFindingsNameRules(t *testing.T) {
	for _, name := range verdict.RuleNames() {
		if rule := headers.Rule(name); !slices.Contains(headers.Rules(), rule) || rule.Seen() == "" {
			t.Errorf("rule %s: not in the rulebook, or not judged", name)
		}
	}
	for _, x := range []struct {
		of   verdict.ClaimKind
		f    verdict.Finding
		want string
	}{
		{verdict.ClaimConformance, verdict.Finding{Kind: verdict.OverAdmission}, "AL-UPPER"},
		{verdict.ClaimConformance, verdict.Finding{Kind: verdict.UnderAdmission}, "AL-LOWER"},
		{verdict.ClaimFieldsRetryAfter, verdict.Finding{Kind: FieldMissing}, "ST-429-RA"},
		{verdict.ClaimFieldsRetryAfter, verdict.Finding{Kind: FieldInvalid, Rule: "RA-SYNTAX"}, "RA-SYNTAX"},
		{verdict.ClaimQuotaLimit, verdict.Finding{Kind: LimitOtherwise}, "RL-LIMIT"},
		{verdict.ClaimStorm, verdict.Finding{Kind: NotDrained}, ""},
	} {
		all := []verdict.Finding{x.f}
		if verdict.NameRules(x.of, all); all[0].Rule != x.want {
			t.Errorf("%s of %s: got rule %q, want %q", x.f.Kind, x.of, all[0].Rule, x.want)
		}
	}
}
