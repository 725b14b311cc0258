package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
)

// TestDiagnosisComesFirst: every format tells what a recording shows as a whole before what is wrong with a
// request.
func TestDiagnosisComesFirst(t *testing.T) {
	const said, finding = "all clients seem to share one quota", "a client was denied"
	r := &result.Run{Scenarios: []result.Scenario{{ID: "burst", Kind: result.Required, Verdict: result.Fail,
		Claims: []result.Claim{{ID: result.ConformanceID, Verdict: result.Fail, Text: finding,
			Findings: []result.Finding{{Kind: result.UnderAdmission, Text: finding}}}},
		Judgement: &result.Judgement{Verdict: result.Fail,
			Diagnosis: &result.Diagnosis{Kind: result.SharedQuota, Text: said, Why: "as one"}}}}}
	for _, format := range []string{"table", "markdown", "github", "junit", "html"} {
		got := string(render(t, format, r, Options{}))
		first, then := strings.Index(got, said), strings.Index(got, finding)
		if first < 0 || then < first {
			t.Errorf("%s: the diagnosis is at %d, the finding at %d: %s", format, first, then, got)
		}
	}
	text, err := VerdictDocument(r.Scenarios[0].Judgement)
	if err != nil || !bytes.Contains(text, []byte(`"diagnosis": {`+"\n"+`    "kind": "shared-quota",`)) {
		t.Errorf("got %s, error %v", text, err)
	}
}
