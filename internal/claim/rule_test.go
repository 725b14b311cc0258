package claim

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
)

// TestFindingsNameRules: a finding names its rule by the kind of its claim and its own kind.
func TestFindingsNameRules(t *testing.T) {
	for _, x := range []struct {
		of   result.ClaimKind
		f    result.Finding
		want string
	}{
		{result.ClaimConformance, result.Finding{Kind: result.OverAdmission}, "AL-UPPER"},
		{result.ClaimConformance, result.Finding{Kind: result.UnderAdmission}, "AL-LOWER"},
		{result.ClaimFieldsRetryAfter, result.Finding{Kind: result.FieldMissing}, "ST-429-RA"},
		{result.ClaimFieldsRetryAfter, result.Finding{Kind: result.FieldInvalid, Rule: "RA-SYNTAX"},
			"RA-SYNTAX"},
		{result.ClaimQuotaLimit, result.Finding{Kind: result.LimitOtherwise}, "RL-LIMIT"},
		{result.ClaimStorm, result.Finding{Kind: result.NotDrained}, ""},
	} {
		all := []result.Finding{x.f}
		if result.NameRules(x.of, all); all[0].Rule != x.want {
			t.Errorf("%s of %s: got rule %q, want %q", x.f.Kind, x.of, all[0].Rule, x.want)
		}
	}
}
