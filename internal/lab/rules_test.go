package lab

import "testing"

// TestARuleTakesAPreset: the limit of a rule may be a preset, even one with spaces. Its name is not taken for
// a header field.
func TestARuleTakesAPreset(t *testing.T) {
	for text, want := range map[string]string{
		"/x nginx:rate=10r/s":                "leaky-bucket,rate=10/s,burst=1",
		"/x nginx:rate=1r/s + drf:5/s":       "leaky-bucket,rate=1/s,burst=1 + sliding-window-log,rate=5/s",
		"X-Tier:gold flask:5 per minute":     "fixed-window,rate=5/1m,align=first",
		"X-Tier:gold fixed-window,rate=5/1m": "fixed-window,rate=5/1m",
		"POST /login express:limti=3":        "",
	} {
		u, err := ParseRule(text)
		if got := u.Limit.String(); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}
