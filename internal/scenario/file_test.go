package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

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
	if _, errs := parseYAML(make([]byte, maxSize+1), "x", Document{}); len(errs) != 1 ||
		errs.Error() != "x: 1048577 bytes: a scenario file has at most 1048576" {
		t.Errorf("too many bytes: got %v", errs)
	}
}
