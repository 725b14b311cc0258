package recording

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
