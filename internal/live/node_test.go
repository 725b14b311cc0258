package live

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The time to install the packages is bounded, and the installation is tried again: a registry may be
// unreachable for a moment.
const (
	install  = 4 * time.Minute
	installs = 4
)

// node starts a package of npm with limit requests per window and returns its URL.
func node(t testing.TB, product string, limit int, window time.Duration) string {
	t.Helper()
	find(t, "node")
	dir := packages(t)
	return "http://" + start(t, program{binary: "node", dir: dir, args: func(_ string, port int) []string {
		return []string{"server.mjs", product, strconv.Itoa(port), strconv.Itoa(limit),
			strconv.FormatInt(window.Milliseconds(), 10)}
	}}) + "/"
}

// installing is held while packages are installed, so that parallel tests do it once.
var installing sync.Mutex

// packages returns a folder with server.mjs and the packages of its lock file. They are installed once, below
// .cache, in a folder named after their content.
func packages(t testing.TB) string {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	sum := sha256.New()
	files := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json", "server.mjs"} {
		src, err := os.ReadFile(filepath.Join("testdata", "node", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = src
		fmt.Fprintf(sum, "%s %d\n%s", name, len(src), src)
	}
	cache, err := filepath.Abs(filepath.Join("..", "..", ".cache", "live"))
	if err != nil {
		t.Fatal(err)
	}
	done := filepath.Join(cache, "node-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	if _, err := os.Stat(done); err == nil {
		return done
	}
	if err := os.MkdirAll(cache, 0o755); err != nil { // the tree may be read-only
		dir := t.TempDir()
		npmCI(t, dir, files)
		return dir
	}
	dir, err := os.MkdirTemp(cache, "installing-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // after success it was renamed already
	npmCI(t, dir, files)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, done); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	return done
}

// npmCI writes the files into dir and installs what their lock file names.
func npmCI(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	npm := find(t, "npm")
	for name, src := range files {
		if err := os.WriteFile(filepath.Join(dir, name), src, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), install)
	defer cancel()
	for n := 1; ; n++ {
		cmd := exec.CommandContext(ctx, npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err == nil {
			return
		}
		if n == installs || ctx.Err() != nil {
			missing(t, "npm ci in testdata/node, tried %d times: %v (is there a network?)\n%s", n, err,
				out)
		}
	}
}
