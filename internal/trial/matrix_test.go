package trial

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/scenarios"
)

// bundled parses every bundled scenario.
func bundled(t *testing.T, opts scenario.ParseOptions) []*scenario.Scenario {
	t.Helper()
	names, err := fs.Glob(scenarios.FS, "*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("bundled scenarios: %v, %v", names, err)
	}
	opts.Env = func(string) (string, bool) { return "", false }
	var out []*scenario.Scenario
	for _, name := range names {
		src, err := fs.ReadFile(scenarios.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenario.Parse(src, name, opts)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// virtually runs a scenario in virtual time on a network in memory.
func virtually(t *testing.T, s *scenario.Scenario) report.Scenario {
	t.Helper()
	var out report.Scenario
	synctest.Test(t, func(*testing.T) {
		out = Scenario(context.Background(), s, Options{ID: "m", Seed: 1, Network: newPipeNet(), Pacer: load.SleepPacer()})
		time.Sleep(time.Minute) // lets what was on its way at the end come to its end
	})
	return out
}

// limits are the limits that every right target is tried with, one for each algorithm.
var limits = []string{
	"token-bucket,rate=100/s,burst=20",
	"gcra,rate=50/s,burst=5",
	"leaky-bucket,rate=20/s,burst=10",
	"fixed-window,rate=20/1s",
	"fixed-window,rate=20/1s,align=first",
	"sliding-window-log,rate=20/1s",
	"sliding-window-counter,rate=20/1s",
	"token-bucket,rate=1/s,burst=1",
}

// TestRightTargetsPass: no scenario accuses a right target, of any algorithm.
func TestRightTargetsPass(t *testing.T) {
	for _, limit := range append([]string{""}, limits...) {
		for _, s := range bundled(t, scenario.ParseOptions{Limit: limit}) {
			t.Run(s.ID+"/"+limit, func(t *testing.T) {
				if out := virtually(t, s); out.Verdict != check.Pass {
					t.Errorf("got %s, want pass: %s", out.Verdict, explain(out))
				}
			})
		}
	}
}

// TestEveryClaimedFaultFails is the fault matrix: every fault that a scenario names is caught by it.
func TestEveryClaimedFaultFails(t *testing.T) {
	for _, s := range bundled(t, scenario.ParseOptions{}) {
		if len(s.Catches) == 0 {
			t.Errorf("%s names no fault: a scenario that no fault can fail says nothing", s.ID)
		}
		for _, fault := range s.Catches {
			t.Run(s.ID+"/"+fault, func(t *testing.T) {
				wrong := *s
				wrong.Target.Fault = fault
				out := virtually(t, &wrong)
				if out.Verdict != check.Fail {
					t.Fatalf("got %s, want fail: %s", out.Verdict, explain(out))
				}
				t.Log(explain(out))
			})
		}
	}
}

// explain prints what a scenario found.
func explain(out report.Scenario) string {
	lines := []string{string(out.Reason) + " " + out.Detail}
	for _, c := range out.Claims {
		lines = append(lines, c.ID+": "+c.Verdict.String()+" "+string(c.Reason)+" "+c.Text)
	}
	lines = append(lines, out.Header.Notes...)
	return strings.Join(lines, "\n    ")
}
