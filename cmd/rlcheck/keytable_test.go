package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// The lines around the table of keys in docs/limit.md.
const (
	keyTableBegins = "<!-- table of keys: written by make golden from internal/spec/words.txt -->\n"
	keyTableEnds   = "<!-- end of the table of keys -->\n"
)

// TestTableOfKeys: the table of keys in docs/limit.md equals what explain prints.
func TestTableOfKeys(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "limit.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), keyTableBegins)
	table, after, ends := strings.Cut(rest, keyTableEnds)
	if !begins || !ends {
		t.Fatalf("%s: a line %q or %q is missing", path, keyTableBegins, keyTableEnds)
	}
	if want := keyTable(); *update {
		made := before + keyTableBegins + want + keyTableEnds + after
		if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table != want {
		t.Errorf("%s: the table of keys is stale (make golden): got\n%s\nwant\n%s", path, table, want)
	}
}

// inCode matches the pairs of a SPEC in a text.
var inCode = regexp.MustCompile(`\b(` + strings.Join(spec.Keys(""), "|") + `)=[A-Za-z0-9]+`)

// keyTable is the table of keys in Markdown.
func keyTable() string {
	var b strings.Builder
	b.WriteString("| key | of | values | means | without it |\n|---|---|---|---|---|\n")
	code := func(s string) string { return inCode.ReplaceAllString(s, "`$0`") }
	for _, d := range spec.KeyDocs() {
		var forms []string
		if d.Values != "" {
			forms = append(forms, "`"+strings.ReplaceAll(d.Values, " or ", "` or `")+"`")
		}
		for _, w := range d.Words {
			forms = append(forms, "`"+w.Word+"` ("+code(w.Text)+")")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n",
			d.Key, ofAlgorithms(d.Algorithms), strings.Join(forms, ", "), code(d.Text), d.Default)
	}
	return b.String()
}

// ofAlgorithms names the algorithms that have a key, or those that lack it if they are fewer.
func ofAlgorithms(of []spec.Algorithm) string {
	names := func(wanted bool) (out []string) {
		for _, a := range spec.Algorithms() {
			if slices.Contains(of, a) == wanted {
				out = append(out, "`"+string(a)+"`")
			}
		}
		return out
	}
	if others := names(false); len(others) < 4 {
		if len(others) == 0 {
			return "all"
		}
		return "all but " + strings.Join(others, ", ")
	}
	return strings.Join(names(true), ", ")
}
