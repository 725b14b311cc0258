package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
)

// TestStormsAreTold: a terminal and a step summary show what each way to retry costs.
func TestStormsAreTold(t *testing.T) {
	r := &result.Run{Scenarios: []result.Scenario{{ID: "retry-storm", Kind: result.Informative,
		Verdict: result.Pass, Claims: []result.Claim{
			{ID: "conformance", Kind: result.ClaimConformance, Verdict: result.Pass, Text: "as declared"},
			{ID: "storm-fixed", Kind: result.ClaimStorm,
				Verdict: result.Pass, Text: "40 of 40 clients admitted with 96 requests, 56 in vain"},
			{ID: "storm-jitter", Kind: result.ClaimStorm,
				Verdict: result.Inconclusive, Reason: result.TooFew, Text: "nothing was seen"}}}}}
	for format, write := range map[string]func(*bytes.Buffer) error{
		"table":    func(b *bytes.Buffer) error { return writeTable(b, r, Options{}) },
		"markdown": func(b *bytes.Buffer) error { return writeMarkdown(b, r, Options{}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "fixed: 40 of 40 clients admitted with 96 requests, 56 in vain") ||
			strings.Contains(b.String(), "nothing was seen") ||
			strings.Contains(b.String(), "as declared") {
			t.Errorf("%s: got %s", format, b.String())
		}
	}
}
