package trial

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
		r := NewRedactor([]*scenario.Scenario{{Secrets: []string{secret}}}, nil, "")
		if got := r.Replace("<" + secret[:min(len(secret), 4096)] + ">"); len(got) > 600 ||
			strings.Contains(got, secret[:12]) {
			t.Errorf("%s: got %q", name, got)
		}
		if got := r.Replace("the rest stays"); got != "the rest stays" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	secret := long.String()[:1000]
	r := NewRedactor([]*scenario.Scenario{{Secrets: []string{secret}}}, nil, "")
	if got := r.Replace("<" + secret + ">"); got != "<"+Redacted+">" {
		t.Errorf("whole: got %q", got)
	}
	cut := r.Replace(`{"you": "` + secret[:503]) // as much as is kept
	if strings.Contains(cut, secret[:64]) || strings.Contains(cut, secret[384:448]) {
		t.Errorf("cut off: got %q", cut)
	}
}

// FuzzRedactor: no secret is left in a text, whatever both are. One that overlaps with the mark may be made
// by it.
func FuzzRedactor(f *testing.F) {
	f.Add("s3cr3t", "a s3cr3t and s3cr3ts3cr3t", "other")
	f.Add("aaaa", "aaaaaaa", "aaaaa")
	f.Fuzz(func(t *testing.T, secret, text, second string) {
		r := NewRedactor([]*scenario.Scenario{{Secrets: []string{secret, second}}}, nil, "")
		got := r.Replace(text)
		if len(secret) < ShortestSecret || len(secret) > longWhole || len(second) >= ShortestSecret {
			return // the other secret may take a part of this one
		}
		for i := range len(Redacted) {
			if strings.HasSuffix(secret, Redacted[:i+1]) || strings.HasPrefix(secret, Redacted[i:]) {
				return
			}
		}
		if strings.Contains(got, secret) && !strings.Contains(Redacted, secret) {
			t.Errorf("secret %q in %q: got %q", secret, text, got)
		}
	})
}
