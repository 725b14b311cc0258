package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// byteCeiling is what a file under version control may weigh in bytes. The largest text has 215 kB.
const byteCeiling = 256 << 10

// TestNoBinaryIsTracked: whoever clones the project pays for each version of a built program.
func TestNoBinaryIsTracked(t *testing.T) {
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("not a checkout")
	}
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if err == nil && info.Size() > byteCeiling {
			t.Errorf("%s has %d bytes, over %d", name, info.Size(), byteCeiling)
		}
	}
}
