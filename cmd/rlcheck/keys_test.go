package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/trial"
)

// FuzzReadKeys: a file of keys is refused, without a word of it, or gives keys that can be redacted, each
// once.
func FuzzReadKeys(f *testing.F) {
	f.Add("# two\nkey-1\nkey-2\n")
	f.Add("abc\n")
	f.Add("key 1\r\nkey-1\x00")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "k")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := readKeys(path)
		if err != nil {
			for line := range strings.Lines(text) {
				if key := strings.TrimSpace(line); len(key) > 12 && strings.Contains(err.Error(), key) {
					t.Errorf("the error shows a key: %v", err)
				}
			}
			return
		}
		for i, k := range keys {
			if len(k) < trial.ShortestSecret || strings.ContainsAny(k, " \t\r\n") ||
				slices.Contains(keys[:i], k) {
				t.Errorf("got the key %q of %q", k, text)
			}
		}
	})
}
