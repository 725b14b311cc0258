package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenAPICounts: what an operation declares is found behind references, in extensions, in any capitals.
func TestOpenAPICounts(t *testing.T) {
	head := "openapi: 3.1.0\npaths:\n  /a:\n    get:\n      responses:\n"
	for body, want := range map[string]Declared{
		"        '200': {description: ok}\n":                                   {1, 0, 0, 0},
		"        default: {description: any}\n":                                {1, 0, 0, 0},
		"        '429': {description: no}\n":                                   {1, 1, 0, 0},
		"        429: {headers: {RETRY-AFTER: {}}}\n":                          {1, 1, 1, 0},
		"        '429': {headers: {Retry-After: {}, X-RateLimit-Limit: {}}}\n": {1, 1, 1, 1},
		"        '200': {headers: {RateLimit-Policy: {}}}\n":                   {1, 0, 0, 1},
		"        '200': {}\n      x-rate-limit: 5/m\n":                         {1, 0, 0, 1},
		"        '200': {}\nx-throttling: 5/m\n":                               {1, 0, 0, 1},
		"        '429': {$ref: 'other.yaml#/x'}\n":                             {1, 1, 0, 0},
		"        '429': {$ref: '#/r/~1x'}\nr: {/x: {$ref: '#/r/y'}, y: {headers: " +
			"{Retry-After: {$ref: '#/h'}}}}\nh: {schema: {type: integer}}\n": {1, 1, 1, 0},
		"        '429': {$ref: '#/r'}\nr: {$ref: '#/r'}\n": {1, 1, 0, 0},
	} {
		got, _, err := LintOpenAPI([]byte(head+body), "a.yaml")
		if err != nil || got != want {
			t.Errorf("%s: got %+v and error %v, want %+v", body, got, err, want)
		}
	}
}

// FuzzLintOpenAPI: no document makes it panic, and what is counted stays within the operations.
func FuzzLintOpenAPI(f *testing.F) {
	script, err := os.ReadFile(filepath.Join("..", "..", "cmd", "rlcheck", "testdata", "script",
		"lint_openapi.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for part := range strings.SplitSeq(string(script), "-- ") {
		f.Add(part)
	}
	f.Add("openapi: 3\nx: &a [*a]\n")
	f.Add("openapi: 3\na: &a [1,1,1]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\npaths: {/: *c}\n")
	f.Fuzz(func(t *testing.T, src string) {
		d, _, _ := LintOpenAPI([]byte(src), "a.yaml")
		if d.Waits > d.Denials || max(d.Denials, d.Limits) > d.Operations {
			t.Errorf("%q: %+v", src, d)
		}
	})
}
