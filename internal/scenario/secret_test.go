package scenario

import (
	"slices"
	"testing"
)

// TestWhatATargetMayRepeat lists what is looked for in answers: all of a secret, and each part of it that is
// long enough.
func TestWhatATargetMayRepeat(t *testing.T) {
	for _, x := range []struct {
		text string
		want []string
	}{
		{"sesame", []string{"sesame"}},
		{"Bearer sesame", []string{"Bearer sesame", "sesame"}},
		{"Bearer abc", []string{"Bearer abc"}}, // too short to look for
		{"Basic dXNlcjpzZXNhbWU=", []string{"Basic dXNlcjpzZXNhbWU=", "dXNlcjpzZXNhbWU=", "user:sesame",
			"sesame"}},
		{"session=sesame; lang=en", []string{"session=sesame; lang=en", "sesame"}},
		{"user=someone&password=sesame", []string{"user=someone&password=sesame", "someone", "sesame"}},
		{`{"key": "sesame"}`, []string{`{"key": "sesame"}`}}, // what JSON holds is not looked for
	} {
		if got := repeated(x.text); !slices.Equal(got, x.want) {
			t.Errorf("%s: got %q, want %q", x.text, got, x.want)
		}
	}
}
