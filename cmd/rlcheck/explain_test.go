package main

import (
	"os"
	"testing"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/field"
)

// TestEveryWordOfAVerdictIsExplained: a reason, a finding or a claim that a report prints has an entry.
func TestEveryWordOfAVerdictIsExplained(t *testing.T) {
	e := &env{getenv: os.LookupEnv}
	entries, err := e.glossary()
	if err != nil {
		t.Fatal(err)
	}
	for word, kind := range map[string]string{
		string(check.ScheduleMissed): "reason", string(check.Unreachable): "reason", string(check.SetupFailed): "reason",
		string(check.NeedsFailed): "reason", string(check.TooFew): "reason", string(check.ForeignTraffic): "reason",
		string(check.UnclassifiedStatus): "reason", string(check.SearchLimit): "reason", string(check.Interrupted): "reason",
		string(check.OverAdmission): "finding", string(check.UnderAdmission): "finding", string(check.NoExplanation): "finding",
		string(claim.RetryAfterEarly): "finding", string(claim.RetryAfterLate): "finding", string(claim.FieldMissing): "finding",
		string(claim.FieldInvalid): "finding", string(claim.DeniedStatus): "claim", string(claim.DeniedInPhase): "finding",
		string(field.R3Range): "rule", string(field.XRReset): "rule", string(field.RASyntax): "rule",
		string(claim.Latency): "claim", string(claim.FieldLost): "finding", string(claim.FieldChanged): "finding",
		string(claim.StatusChanged): "finding", string(claim.BodyChanged): "finding",
		"conformance": "claim", "denials-below": "claim", "latency-denied-p99": "claim", "fields-" + string(claim.ProblemBody): "claim",
		check.Pass.String(): "verdict", check.Fail.String(): "verdict", check.Inconclusive.String(): "verdict",
	} {
		if i := find(entries, word); i < 0 || entries[i].kind != kind {
			t.Errorf("%s: got entry %d, want a %s", word, i, kind)
		}
	}
	seen := map[string]bool{}
	for _, en := range entries {
		if seen[en.id] && en.kind != "scenario" { // a scenario may be called as the field it is about
			t.Errorf("%s is explained twice", en.id)
		}
		seen[en.id] = true
		if en.text == "" {
			t.Errorf("%s has no text", en.id)
		}
	}
}
