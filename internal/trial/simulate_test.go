package trial

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/scenarios"
)

// TestSimulationsConform: the judge fails no simulation of a bundled scenario, and finds denials in each
// that demands conformance.
func TestSimulationsConform(t *testing.T) {
	names, err := fs.Glob(scenarios.FS, "*.yaml")
	more, _ := fs.Glob(scenarios.FS, "more/*.yaml") // the pattern is good
	names = append(names, more...)
	if err != nil || len(names) < 30 {
		t.Fatalf("%d scenarios: %v", len(names), err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(scenarios.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenario.Parse(text, name, scenario.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := Simulate(s, Options{ID: "sim", Seed: 1}, time.Millisecond)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if out.Verdict == result.Fail || out.Counts.Denied == 0 {
			t.Errorf("%s: %s with %d denied: %s", name, out.Verdict, out.Counts.Denied,
				strings.Join(out.Worth(), ", "))
		}
	}
}
