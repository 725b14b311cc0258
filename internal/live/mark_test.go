package live

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// elsewhere are the presets with their own tests in this package.
var elsewhere = map[string]string{
	"nginx": "TestNginxImplementsALeakyBucket", "haproxy": "TestHAProxyRatesAreSlidingWindowCounters",
}

// A preset is marked as tested exactly if it was. Either a test here does so, or docs/products.md has a row
// for it on which nothing failed and testdata/products starts the product. If testdata pins a version, the
// mark names it.
func TestPresetsThatSayTestedAre(t *testing.T) {
	pinned, measured, started := pins(t), measuredPresets(t), startedPresets(t)
	for _, p := range spec.Products() {
		all, here := market[p.Name]
		if tested := here || elsewhere[p.Name] != "" || measured[p.Name] != ""; tested != (p.Tested != "") {
			t.Errorf("%s: tested here or in docs/products.md: %t, and it is marked %q", p.Name, tested,
				p.Proof())
		}
		if !here && elsewhere[p.Name] == "" && p.Tested != "" && !started[p.Name] {
			t.Errorf("%s: it is marked %q, and nothing in testdata/products starts it", p.Name, p.Proof())
		}
		for _, s := range all {
			version, known := pinned[s.pinned]
			if s.pinned != "" && (!known || !strings.Contains(p.Tested, version)) {
				t.Errorf("%s: tested on %s %q, and it is marked %q", p.Name, s.pinned, version, p.Proof())
			}
			if name, _, _ := spec.CutPreset(s.preset); name != p.Name {
				t.Errorf("%s: it is tested as %q", p.Name, s.preset)
			}
		}
		if version := measured[p.Name]; !here && version != "" && !strings.Contains(p.Tested, version) {
			t.Errorf("%s: docs/products.md has version %q, and it is marked %q", p.Name, version, p.Proof())
		}
	}
}

// pins returns the versions in testdata, by package or module, without the v of Go.
func pins(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "node", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var npm struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &npm); err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(filepath.Join("testdata", "golang", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v(\S+)$`).FindAllSubmatch(text, -1) {
		npm.Dependencies[string(m[1])] = string(m[2])
	}
	return npm.Dependencies
}

// startedPresets returns the presets whose product testdata/products starts.
func startedPresets(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "products.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		product, words, _ := strings.Cut(strings.TrimSpace(line), "\t")
		_, err := os.Stat(filepath.Join("testdata", "products", product, "run.sh"))
		if name, _, ok := spec.CutPreset(words); ok && err == nil {
			all[name] = true
		}
	}
	return all
}

// measuredPresets returns the presets with a row in docs/products.md on which nothing failed, with the last
// version in it.
func measuredPresets(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "products.md"))
	if err != nil {
		t.Fatal(err)
	}
	versions, all := regexp.MustCompile(`v?\d+(\.\d+)+`), map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 6 || strings.Contains(cells[4], "FAIL") || !strings.Contains(cells[4], "PASS") {
			continue
		}
		if name, _, ok := spec.CutPreset(strings.Trim(cells[3], "`")); ok {
			found := versions.FindAllString(cells[0], -1)
			all[name] = strings.TrimPrefix(found[len(found)-1], "v")
		}
	}
	if len(all) < 20 {
		t.Fatalf("got %d presets in docs/products.md, want some more", len(all))
	}
	return all
}
