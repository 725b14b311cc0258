package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/text"
)

// flat returns a request as lines.
func flat(r *curlRequest) string {
	lines := []string{r.Method + " " + r.URL}
	for _, f := range r.Header {
		lines = append(lines, f.Name+": "+f.Value)
	}
	if r.Body != "" {
		lines = append(lines, "", r.Body)
	}
	if r.CACert+r.Cert+r.Key != "" {
		lines = append(lines, "files "+strings.Join([]string{r.CACert, r.Cert, r.Key}, ", "))
	}
	if r.Insecure {
		lines = append(lines, "(insecure)")
	}
	for _, n := range r.Notes {
		lines = append(lines, "note "+n)
	}
	return strings.Join(lines, "\n")
}

func environment(name string) (string, bool) {
	v, set := map[string]string{"TOKEN": "hunter2", "EMPTY": ""}[name]
	return v, set
}

// TestParseCurl reads the commands of testdata/commands.txt, which -update rewrites. Each has a title, a
// command, a line of dashes, and the request or the error.
func TestParseCurl(t *testing.T) {
	const path = "testdata/commands.txt"
	known, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range strings.Split(string(known), "## ")[1:] {
		title, rest, _ := strings.Cut(c, "\n")
		command, _, found := strings.Cut(rest, "\n----\n")
		if !found {
			t.Fatalf("%s: no line of dashes", title)
		}
		r, err := parseCurl(command, environment)
		var e *text.Problem
		got := ""
		switch {
		case err == nil:
			got = flat(r)
		case errors.As(err, &e) && r == nil:
			got = "error " + err.Error()
		default:
			t.Errorf("%s: got %v, %v, want an *text.Problem alone", title, r, err)
		}
		out = append(out, "## "+title+"\n"+command+"\n----\n"+got+"\n")
	}
	got := strings.Join(out, "\n")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(known), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// FuzzParse checks that nothing panics, that the result is a request that can be sent or a *text.Problem, and
// that quoted words are read back.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`curl -sS -XPOST "https://a/$TOKEN" -H 'A: b' -d $'\u00fc\x4' --json '{}' # c`,
		`curl -G a --data-urlencode 'a=b c' -b c=d -b e=f -u a:b -kI`, "curl \\\n 'a", `curl "`, `curl $'\`,
		`curl ${A`, "curl -\xff", `curl --`, `curl \`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		r, err := parseCurl(command, environment)
		var e *text.Problem
		switch {
		case err == nil:
			if r.Method == "" || !strings.HasPrefix(r.URL, "http") {
				t.Fatalf("got %q %q", r.Method, r.URL)
			}
		case !errors.As(err, &e) || e.What == "" || e.Why == "":
			t.Fatalf("got %v, want a *text.Problem with what and why", err)
		}
		if strings.ContainsAny(command, "\r\x00") || !utf8.ValidString(command) { // bash drops NUL
			return
		}
		words := strings.Fields(command)
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		if got, err := split(strings.Join(quoted, " \\\n"), nil); err != nil || !slices.Equal(got, words) {
			t.Fatalf("got %q, %v, want %q", got, err, words)
		}
	})
}
