package text

import (
	"slices"
	"strings"
	"testing"
)

func TestMembersOfJSON(t *testing.T) {
	const body = `{"errors":[{"extensions":{"code":"A"}},{"extensions":{"code":"B"}}],"n":1.50,"z":null,
		"o":{"k":[1]}} trailing`
	for path, want := range map[string]string{
		"errors.0.extensions.code": "A", "errors.*.extensions.code": "A|B", "errors.2.extensions.code": "",
		"errors.-1": "", "errors.code": "", "n": "1.50", "n.x": "", "z": "<nil>", "o": `{"k":[1]}`,
		"o.k.0": "1", "": "",
	} {
		if got := strings.Join(Members([]byte(body), path), "|"); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
	for _, body := range []string{"", "no JSON", `{"errors":`} {
		if got := Members([]byte(body), "errors"); len(got) > 0 {
			t.Errorf("%q: got %v, want nothing", body, got)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, x := range []string{"THROTTLED THROTTLED", "THR* THROTTLED", "*LED THROTTLED", "?HR* THROTTLED",
		"* x"} {
		pattern, s, _ := strings.Cut(x, " ")
		if !Glob(pattern, []byte(s)) {
			t.Errorf("%q does not match %q", pattern, s)
		}
	}
	if slices.ContainsFunc([]string{"THROTTLE", "X*", "*x"}, func(p string) bool {
		return Glob(p,
			[]byte("THROTTLED"))
	}) {
		t.Error("a pattern matches what it should not")
	}
}
