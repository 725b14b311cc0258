package redact

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/scenario"
)

// A long body is a secret too where a target repeats its beginning, which is all that is kept of an answer.
// One of a single letter took minutes before anything was sent.
func TestLongSecretsAreRedactedInParts(t *testing.T) {
	var long strings.Builder
	for i := range 4000 {
		long.WriteString(strings.Repeat(string(rune('a'+i%26)), 1+i%7))
	}
	for name, secret := range map[string]string{"short": "s3cret-s3cret", "1 kB": long.String()[:1000],
		"16 kB": long.String(), "a megabyte of one letter": strings.Repeat("a", 1<<20)} {
		r := New([]*scenario.Scenario{{Secrets: []string{secret}}}, nil, "")
		if got := r.Replace("<" + secret[:min(len(secret), 4096)] + ">"); len(got) > 600 ||
			strings.Contains(got, secret[:12]) {
			t.Errorf("%s: got %q", name, got)
		}
		if got := r.Replace("the rest stays"); got != "the rest stays" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	secret := long.String()[:1000]
	r := New([]*scenario.Scenario{{Secrets: []string{secret}}}, nil, "")
	if got := r.Replace("<" + secret + ">"); got != "<"+Mark+">" {
		t.Errorf("whole: got %q", got)
	}
	cut := r.Replace(`{"you": "` + secret[:503]) // as much as is kept
	if strings.Contains(cut, secret[:64]) || strings.Contains(cut, secret[384:448]) {
		t.Errorf("cut off: got %q", cut)
	}
}
