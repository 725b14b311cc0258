package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/report/document"
	"github.com/rlcheck/rlcheck/internal/report/evidence"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestDiagnosisComesFirst: every format tells what a recording shows as a whole before what is wrong with a
// request.
func TestDiagnosisComesFirst(t *testing.T) {
	const said, finding = "all clients seem to share one quota", "a client was denied"
	r := &result.Run{Scenarios: []result.Scenario{{ID: "burst", Kind: result.Required, Verdict: verdict.Fail,
		Claims: []verdict.Claim{{ID: evidence.Conformance, Verdict: verdict.Fail, Text: finding,
			Findings: []verdict.Finding{{Kind: verdict.UnderAdmission, Text: finding}}}},
		Judgement: &verdict.Judgement{Verdict: verdict.Fail,
			Diagnosis: &verdict.Diagnosis{Kind: verdict.SharedQuota, Text: said, Why: "as one"}}}}}
	for _, format := range []string{"table", "markdown", "github", "junit", "html"} {
		got := string(render(t, format, r, Options{}))
		first, then := strings.Index(got, said), strings.Index(got, finding)
		if first < 0 || then < first {
			t.Errorf("%s: the diagnosis is at %d, the finding at %d: %s", format, first, then, got)
		}
	}
	text, err := document.Verdict(r.Scenarios[0].Judgement)
	if err != nil || !bytes.Contains(text, []byte(`"diagnosis": {`+"\n"+`    "kind": "shared-quota",`)) {
		t.Errorf("got %s, error %v", text, err)
	}
}
