package transport

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// partition reads a partition as it is printed: KIND, KIND:NAME or header:NAME: FORMAT.
func partition(s string) Partition {
	kind, name, _ := strings.Cut(s, ":")
	name, format, _ := strings.Cut(name, ": ")
	return Partition{Kind: kind, Name: name, Format: format}
}

// TestPartitionsThatCannotBeSent says why; others print what they were read from.
func TestPartitionsThatCannotBeSent(t *testing.T) {
	u := must(url.Parse("http://127.0.0.1/"))
	for s, want := range map[string]string{
		"": "", "header:X-Api-Key": "", "query:key": "", "path": "", "address": "",
		"header:Authorization: Bearer {key}": "",

		"form:x":                       "no such kind",
		"header":                       "field name",
		"header:a b":                   "field name",
		"header:A\r\nB":                "field name",
		"header:x-api-key":             "canonical form",
		"header:Content-Length":        "frames the message",
		"header:Authorization: Bearer": "no {key}",
		"header:X: {key}\r\nY: 1":      "control characters",
		"query:":                       "no name",
		"body:":                        "no name",
		"cookie:":                      "token",
		"cookie:a b":                   "token",
	} {
		p := partition(s)
		err := p.check(u)
		if want == "" && (err != nil || p.String() != s) || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %q, %v, want %q in it", s, p, err, want)
		}
	}
	if err := partition("address").check(must(url.Parse("http://192.0.2.1/"))); err == nil {
		t.Error("source addresses for a target far away: no error")
	}
}

// TestAMarkedAdmissionIsADenial: the mark is the name of a field, or its name and value. Other outcomes do
// not change.
func TestAMarkedAdmissionIsADenial(t *testing.T) {
	for _, tt := range []struct {
		mark   string
		status int
		value  string
		want   timeline.Outcome
	}{
		{"", 200, "true", timeline.Allowed},
		{"X-Degraded", 200, "true", timeline.Denied},
		{"X-Degraded", 200, "", timeline.Allowed},
		{"x-degraded: true", 200, "True", timeline.Denied},
		{"X-Degraded: true", 200, "false", timeline.Allowed},
		{"X-Degraded", 404, "true", timeline.Unknown},
		{"X-Degraded", 429, "", timeline.Denied},
	} {
		o := Options{Answers: Answers{DeniedField: tt.mark, Classify: timeline.StatusOutcome}}
		h := http.Header{}
		if tt.value != "" {
			h.Set("X-Degraded", tt.value)
		}
		if got := o.Outcome(tt.status, h); got != tt.want {
			t.Errorf("%q, %d with %q: got %s, want %s", tt.mark, tt.status, tt.value, got, tt.want)
		}
	}
}
