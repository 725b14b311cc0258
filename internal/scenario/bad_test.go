package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testdata returns the files of a folder that match a pattern, by base name.
func testdata(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("testdata/%s: got %d files, %v", pattern, len(paths), err)
	}
	all := make(map[string][]byte, len(paths))
	for _, p := range paths {
		src, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(p)] = src
	}
	return all
}

func TestEveryMistakeIsReportedWithItsPlaceAndAMend(t *testing.T) {
	for name, src := range testdata(t, "bad/*.yaml") {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(src, name, ParseOptions{})
			if s != nil || err == nil {
				t.Fatalf("got %+v, %v, want no scenario and an error", s, err)
			}
			var problems Errors
			if !errors.As(err, &problems) {
				t.Fatalf("got a %T, want Errors", err)
			}
			for _, p := range problems {
				checkPlace(t, src, p)
			}
			golden(t, filepath.Join("testdata", "bad", strings.TrimSuffix(name, ".yaml")+".txt"),
				[]byte(err.Error()+"\n"))
		})
	}
}

// yamlBreak matches the end of a line of YAML.
var yamlBreak = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

// checkPlace demands that a problem lies inside the file and names a rule.
func checkPlace(t *testing.T, src []byte, p Problem) {
	t.Helper()
	lines := yamlBreak.Split(string(src), -1)
	if last := len(lines) - 1; last > 0 && lines[last] == "" { // a break at the end begins no new line
		lines = lines[:last]
	}
	switch {
	case p.What == "" || p.Why == "":
		t.Errorf("problem without what or why: %q", p.Error())
	case p.Line < 1 || p.Line > len(lines):
		t.Errorf("%q: line %d of %d", p.Error(), p.Line, len(lines))
	case p.Col < 1 || p.Col > len([]rune(lines[p.Line-1]))+1:
		t.Errorf("%q: column %d of %q", p.Error(), p.Col, lines[p.Line-1])
	case strings.ContainsAny(p.Error(), "\n\r\x1b"):
		t.Errorf("%q is more than a line", p.Error())
	}
}

func TestGoodFilesParse(t *testing.T) {
	for name, src := range testdata(t, "good/*.yaml") {
		s, err := Parse(src, name, ParseOptions{})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if _, err := s.Plan("r", 7); err != nil {
			t.Errorf("%s: plan: %v", name, err)
		}
	}
}
