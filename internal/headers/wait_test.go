package headers

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestWaitsOfADenial: what fields and bodies tell, and in which unit.
func TestWaitsOfADenial(t *testing.T) {
	for _, c := range []struct{ fields, body, want string }{
		{"Retry-After=2", "", "Retry-After: 2 = 2s in 1s"},
		{"Retry-After-Ms=1500", "", "Retry-After-Ms: 1500 = 1.5s in 1ms"},
		{"Retry-After-Ms=2000", "", "Retry-After-Ms: 2000 = 2s in 1s"},
		{"", `{"retry_after_ms":1500}`, "retry_after_ms: 1500 = 1.5s in 1ms"},
		{"", `{"error":{"retryAfterMs":3000}}`, "retryAfterMs: 3000 = 3s in 1s"},
		{"", `{"retry-after-milliseconds":"250"}`, "retry-after-milliseconds: 250 = 250ms in 1ms"},
		{"", `{"retry_after_seconds":2}`, "retry_after_seconds: 2 = 2s in 1s"},
		{"", `{"retryAfter":2}`, "retryAfter: 2 = 2s in 1s, loose"},
		{"", `{"retry_after":2,"retry_after_ms":1500}`, "retry_after: 2 = 2s in 1s, loose; " +
			"retry_after_ms: 1500 = 1.5s in 1ms"},
		{"Retry-After=2", `{"retry_after_ms":1500}`, "Retry-After: 2 = 2s in 1s"},
		{"Retry-After=2", `{"retryDelay":"1.5s"}`, "Retry-After: 2 = 2s in 1s; retryDelay: 1.5s = " +
			"1.5s in 1s"},
		{"", `{"a":{"retry_after_ms":1},"b":{"retry_after_ms":2}}`, ""},
		{"", `{"retry_after_ms":-1}`, ""}, {"", `{"retry_after_ms":null}`, ""},
		{"", `{"retry_after_ms":1e400}`, ""},
	} {
		name, value, _ := strings.Cut(c.fields, "=")
		get := func(asked string) (string, bool) {
			if c.fields == "" || asked != name {
				return "", false
			}
			return value, true
		}
		var got []string
		for _, w := range Waits(get, c.body, time.Time{}) {
			s := fmt.Sprintf("%s = %s in %s", w, w.For, w.Unit)
			if w.Loose {
				s += ", loose"
			}
			got = append(got, s)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s %s: got %q, want %q", c.fields, c.body, text, c.want)
		}
	}
}

// FuzzWaits: no wait is negative or without a unit, and each is what some field or member says.
func FuzzWaits(f *testing.F) {
	f.Add("Retry-After", "2", `{"retry_after":2}`)
	f.Add("Retry-After", "Fri, 20 Nov 2026 09:55:29 GMT", `{"retryDelay":"1.5s"}`)
	f.Add("Retry-After-Ms", "1e9", `{"retry_after_ms":1500,"retry_after":-1}`)
	f.Add("X-Ms-Retry-After-Ms", "9223372036854775807", `{"a":[{"retryAfterMillis":"0.5"}],"retryin":"1h0s"`)
	f.Fuzz(func(t *testing.T, name, value, body string) {
		get := func(asked string) (string, bool) {
			if !strings.EqualFold(asked, name) {
				return "", false
			}
			return value, true
		}
		for _, w := range Waits(get, body, time.Unix(1_800_000_000, 0)) {
			if w.For < 0 || w.Unit <= 0 || w.Field == "" {
				t.Errorf("%s: %q, %q: %+v", name, value, body, w)
			}
			if w.Value != value && !strings.Contains(body, w.Value[:min(1, len(w.Value))]) {
				t.Errorf("%s: %q, %q: nobody says %+v", name, value, body, w)
			}
			_ = w.String()
		}
	})
}
