package scenario

import (
	"errors"
	"os"
	"path/filepath"
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

// checkPlace wants a problem inside the file, with a rule.
func checkPlace(t *testing.T, src []byte, p Problem) {
	t.Helper()
	lines := splitLines(src)
	if len(lines) == 0 {
		lines = []string{""}
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

func TestReadFileRefusesBeforeItReads(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	f, err := os.Create(large)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(100<<20), f.Close()); err != nil {
		t.Fatal(err)
	}
	exact := filepath.Join(dir, "exact.yaml")
	if err := os.WriteFile(exact, make([]byte, maxSize), 0o600); err != nil {
		t.Fatal(err)
	}
	if src, err := ReadFile(exact); err != nil || len(src) != maxSize {
		t.Errorf("a file of exactly 1 MiB: got %d bytes, %v", len(src), err)
	}
	for path, want := range map[string]string{
		large:                        large + ": 104857600 bytes: a scenario file has at most 1048576",
		dir:                          dir + ": a folder: a scenario is a regular file",
		os.DevNull:                   os.DevNull + ": a device: a scenario is a regular file",
		filepath.Join(dir, "no.yml"): "stat " + filepath.Join(dir, "no.yml") + ": no such file or directory",
	} {
		if _, err := ReadFile(path); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Parse(make([]byte, maxSize+1), "x", ParseOptions{}); err == nil ||
		err.Error() != "x: 1048577 bytes: a scenario file has at most 1048576" {
		t.Errorf("too many bytes: got %v", err)
	}
}
