package claim

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestFindingsNameRules: a finding names its rule by the kind of its claim and its own kind.
func TestFindingsNameRules(t *testing.T) {
	for _, x := range []struct {
		of   verdict.ClaimKind
		f    verdict.Finding
		want string
	}{
		{verdict.ClaimConformance, verdict.Finding{Kind: verdict.OverAdmission}, "AL-UPPER"},
		{verdict.ClaimConformance, verdict.Finding{Kind: verdict.UnderAdmission}, "AL-LOWER"},
		{verdict.ClaimFieldsRetryAfter, verdict.Finding{Kind: verdict.FieldMissing}, "ST-429-RA"},
		{verdict.ClaimFieldsRetryAfter, verdict.Finding{Kind: verdict.FieldInvalid, Rule: "RA-SYNTAX"},
			"RA-SYNTAX"},
		{verdict.ClaimQuotaLimit, verdict.Finding{Kind: verdict.LimitOtherwise}, "RL-LIMIT"},
		{verdict.ClaimStorm, verdict.Finding{Kind: verdict.NotDrained}, ""},
	} {
		all := []verdict.Finding{x.f}
		if verdict.NameRules(x.of, all); all[0].Rule != x.want {
			t.Errorf("%s of %s: got rule %q, want %q", x.f.Kind, x.of, all[0].Rule, x.want)
		}
	}
}
