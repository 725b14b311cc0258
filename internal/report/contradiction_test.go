package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestAContradictionIsAFailureOfItsOwn: two recordings contradict each other if no single limiter can have
// made both. Every format for readers says so, though no scenario failed, and JSON keeps it.
func TestAContradictionIsAFailureOfItsOwn(t *testing.T) {
	const text = "no burst explains both: at most 18 in low, at least 21 in high"
	limit, err := spec.Parse("token-bucket,rate=10/s,burst=18..22")
	if err != nil {
		t.Fatal(err)
	}
	r := &result.Run{ID: "r", Scenarios: []result.Scenario{
		{ID: "low", Kind: result.Required, Verdict: result.Pass, Limit: limit,
			Standing: result.Standing{ResolvedBy: []string{"timeline-1.ndjson"}}},
		{ID: "high", Kind: result.Required, Verdict: result.Pass, Limit: limit}},
		Policy: &result.Policy{Limit: limit, From: []string{"low", "high"},
			Contradiction: &result.Contradiction{Between: [2]string{"low", "high"}, Text: text}}}
	for _, format := range []string{"table", "junit", "markdown", "github", "html"} {
		var b bytes.Buffer
		if err := Write(&b, format, r, Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, text) || !strings.Contains(got, "one-limiter") {
			t.Errorf("%s: got %s\nwant %q", format, got, text)
		}
		if format == "junit" && !strings.Contains(b.String(), `failures="1"`) {
			t.Errorf("junit: got %s, want one failure", b.String())
		}
	}
	var b bytes.Buffer
	if err := Write(&b, "json", r, Options{}); err != nil {
		t.Fatal(err)
	}
	again, err := ReadDocument(&b)
	if err != nil || again.Verdict(false) != result.Fail {
		t.Fatalf("read back: %v, %v", again, err)
	}
	if d := cmp.Diff(again.Policy.Contradiction, r.Policy.Contradiction); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(again.Scenarios[0].ResolvedBy, r.Scenarios[0].ResolvedBy); d != "" {
		t.Error(d)
	}
}
