package transport

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestParsePartition(t *testing.T) {
	for _, s := range []string{"header:X-Api-Key", "query:key", "path", "address"} {
		p, err := ParsePartition(s)
		if err != nil || p.String() != s {
			t.Errorf("%s: got %v, %v", s, p, err)
		}
	}
	for s, want := range map[string]string{
		"":                      "no such kind",
		"form:x":                "no such kind",
		"header":                "field name",
		"header:a b":            "field name",
		"header:A\r\nB":         "field name",
		"header:Content-Length": "frames the message",
		"query:":                "no name",
		"path:x":                "takes no name",
		"address:127.0.0.1":     "takes no name",
	} {
		if _, err := ParsePartition(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", s, err, want)
		}
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
		o := Options{DeniedField: tt.mark, Classify: Classify}
		h := http.Header{}
		if tt.value != "" {
			h.Set("X-Degraded", tt.value)
		}
		if got := o.Outcome(tt.status, h); got != tt.want {
			t.Errorf("%q, %d with %q: got %s, want %s", tt.mark, tt.status, tt.value, got, tt.want)
		}
	}
}
