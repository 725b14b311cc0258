package rundir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpillLeavesNothing: what was written can be read, and is gone when the file is closed.
func TestSpillLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	f, err := Spill()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 2)
	if _, err := f.ReadAt(b, 1); err != nil || string(b) != "bc" {
		t.Errorf("got %q, %v", b, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestSpillNamesTheFolder: the error names the folder that cannot be written to.
func TestSpillNamesTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	t.Setenv("TMPDIR", dir)
	_, err := Spill()
	if err == nil || !strings.HasPrefix(err.Error(), dir+": ") || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("got %v", err)
	}
}

// TestSpillMovesOn: if the folder of a file takes no more, the file goes on in the other one, with all that
// was written.
func TestSpillMovesOn(t *testing.T) {
	full, roomy := t.TempDir(), t.TempDir()
	name := filepath.Join(full, "f")
	if err := os.WriteFile(name, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name) // it cannot be written to
	if err != nil {
		t.Fatal(err)
	}
	var why error
	s := &spilled{File: f, size: 3, dir: full, others: []string{roomy},
		moved: func(err error, to string) { why = err }}
	defer s.Close()
	b := make([]byte, 5)
	if _, err := s.Write([]byte("de")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadAt(b, 0); err != nil || string(b) != "abcde" {
		t.Errorf("got %q, %v", b, err)
	}
	if why == nil || !strings.HasPrefix(why.Error(), full+": ") {
		t.Errorf("got %v, want the folder that takes no more", why)
	}
	t.Setenv("TMPDIR", filepath.Join(full, "none"))
	other, err := SpillAlso(roomy, func(err error, _ string) { why = err })()
	if err != nil || !strings.Contains(why.Error(), "none: ") {
		t.Fatalf("got %v, %v", err, why)
	}
	_ = other.Close() // nothing was written
}
