package trial

import (
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/scenarios"
)

// bundled parses every bundled scenario, or only those that are named.
func bundled(t *testing.T, opts scenario.ParseOptions, only ...string) []*scenario.Scenario {
	t.Helper()
	names, err := fs.Glob(scenarios.FS, "*.yaml")
	more, _ := fs.Glob(scenarios.FS, "more/*.yaml") // the pattern is good
	names = append(names, more...)
	if err != nil || len(names) == 0 {
		t.Fatalf("bundled scenarios: %v, %v", names, err)
	}
	opts.Env = func(string) (string, bool) { return "", false }
	var out []*scenario.Scenario
	for _, name := range names {
		if len(only) > 0 && !slices.Contains(only, strings.TrimSuffix(path.Base(name), ".yaml")) {
			continue
		}
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
func virtually(t *testing.T, s *scenario.Scenario) result.Scenario {
	t.Helper()
	var out result.Scenario
	synctest.Test(t, func(*testing.T) {
		out = Scenario(context.Background(), s,
			Options{ID: "m", Seed: 1, Embed: embedded, Network: new(lab.PipeNetwork),
				Pacer: transport.SleepingPacer()})
		time.Sleep(time.Minute) // lets what was on its way at the end come to its end
	})
	return out
}

// long are the bundled scenarios that send most: half of the work of all.
var long = []string{"acceptance", "endurance", "identity-isolation", "overload-10x"}

// limits are the limits that every right target is tried with, one for each algorithm.
var limits = []string{
	"token-bucket,rate=100/s,burst=20",
	"gcra,rate=50/s,burst=5",
	"leaky-bucket,rate=20/s,burst=10",
	"fixed-window,rate=20/1s",
	"fixed-window,rate=20/1s,align=first",
	"fixed-window,rate=20/1s,align=shared",
	"fixed-window,rate=20/1s,slots=5",
	"sliding-window-log,rate=20/1s",
	"sliding-window-counter,rate=20/1s",
	"token-bucket,rate=1/s,burst=1",
}

// noChance are scenarios that cannot show a fault under a limit, as they send too little for it.
var noChance = map[string]string{"proxy-repeats": "fixed-window,rate=20/1s,align=shared"}

// TestRightTargetsPass: no scenario accuses a right target, of any algorithm. Each scenario is tried with a
// third of the limits; RLCHECK_SOAK tries all.
func TestRightTargetsPass(t *testing.T) {
	all := append([]string{""}, limits...)
	if testing.Short() {
		all = all[:1]
	}
	rests := chances{}
	defer rests.documented(t)
	for i, limit := range all {
		for k, s := range bundled(t, scenario.ParseOptions{Limit: limit}) {
			some := slices.Contains(long, s.ID) || limit != "" && os.Getenv("RLCHECK_SOAK") == ""
			if s.Unmet() != "" || some && (i+k)%5 > 0 {
				continue
			}
			t.Run(s.ID+"/"+limit, func(t *testing.T) {
				out := virtually(t, s)
				if out.Verdict != result.Pass && !(out.Reason == result.TooFew && noChance[s.ID] == limit) {
					t.Errorf("got %s, want pass: %s", out.Verdict, explain(out))
				}
				if limit == "" {
					alikeAgain(t, s, out)
				}
				rests.add(out.Claims)
			})
		}
	}
}

// TestRightCapsAreNotAccused: a right target has caps of any kind beside the limits of its clients, and asks
// them as their kind wants: it charges what it denies, gives places back and delays.
func TestRightCapsAreNotAccused(t *testing.T) {
	for _, limit := range []string{
		"sliding-window-log,rate=5/2s,count=all",
		"fixed-window,rate=5/2s,count=all",
		"concurrency,limit=5,hold=200ms..400ms",
		"leaky-bucket-queue,rate=20/s,queue=5",
	} {
		for _, s := range bundled(t, scenario.ParseOptions{Limit: limit}, "login-guessing", "global-cap") {
			t.Run(s.ID+"/"+limit, func(t *testing.T) {
				if s.Unmet() != "" {
					t.Skip(s.Unmet())
				}
				if out := virtually(t, s); out.Verdict == result.Fail {
					t.Errorf("accused: %s", explain(out))
				}
			})
		}
	}
}

// TestEveryClaimedFaultFails is the fault matrix: every fault that a scenario names is caught by it. It
// prints the kill score and the faults that nobody claims.
func TestEveryClaimedFaultFails(t *testing.T) {
	killed, claims := 0, 0
	claimed := map[string]bool{}
	for _, s := range bundled(t, scenario.ParseOptions{}) {
		if len(s.Catches) == 0 {
			t.Errorf("%s names no fault: a scenario that no fault can fail says nothing", s.ID)
		}
		for i, fault := range s.Catches {
			claims++
			claimed[fault] = true
			if testing.Short() && claims%12 != 0 {
				continue
			}
			caught := t.Run(s.ID+"/"+fault, func(t *testing.T) {
				out := against(t, s, fault)
				if out.Verdict != result.Fail {
					t.Fatalf("got %s, want fail: %s", out.Verdict, explain(out))
				}
				diagnosed(t, out, fault)
				if i == 0 {
					alikeAgain(t, s, out)
				}
				t.Log(explain(out))
			})
			if caught {
				killed++
			}
		}
	}
	var unclaimed []string
	for _, f := range lab.Faults() {
		if !claimed[f.Name] {
			unclaimed = append(unclaimed, f.Name)
		}
	}
	t.Logf("kill score %d of %d claims; %d of %d faults are claimed by nobody: %s",
		killed, claims, len(unclaimed), len(lab.Faults()), strings.Join(unclaimed, ", "))
}

// diagnosed holds that a quota is called shared where all clients have one, and nowhere else: a new client
// whose quota is empty looks the same.
func diagnosed(t *testing.T, out result.Scenario, fault string) {
	t.Helper()
	said := out.Judgement != nil && out.Judgement.Diagnosis != nil
	if said != (fault == "keys-shared") && fault != "starts-empty" {
		t.Errorf("the quota is called shared: %t, with the fault %s", said, fault)
	}
}

// against runs a scenario against a target with a fault in virtual time.
func against(t *testing.T, s *scenario.Scenario, fault string) result.Scenario {
	t.Helper()
	wrong := *s
	wrong.Target.Fault = fault
	return virtually(t, &wrong)
}

// TestSoakUnclaimedCells tries every fault in every scenario that does not claim it, and prints which it
// catches all the same: what may be claimed.
func TestSoakUnclaimedCells(t *testing.T) {
	if os.Getenv("RLCHECK_SOAK") == "" {
		t.Skip("RLCHECK_SOAK=1 tries some hundred cells that nobody claims")
	}
	for _, s := range bundled(t, scenario.ParseOptions{}) {
		caught, missed := []string{}, 0
		for _, f := range lab.Faults() {
			if slices.Contains(s.Catches, f.Name) {
				continue
			}
			if out := against(t, s, f.Name); out.Verdict == result.Fail {
				caught = append(caught, f.Name)
			} else {
				missed++
			}
		}
		t.Logf("%s catches %d faults that it does not claim, and misses %d: %s", s.ID, len(caught), missed,
			strings.Join(caught, ", "))
	}
}

// explain prints what a scenario found.
func explain(out result.Scenario) string {
	lines := []string{string(out.Reason) + " " + out.Detail}
	for _, c := range out.Claims {
		lines = append(lines, c.ID+": "+c.Verdict.String()+" "+string(c.Reason)+" "+c.Text)
	}
	lines = append(lines, out.Header.Notes...)
	return strings.Join(lines, "\n    ")
}

// TestProofsAreThoseOfTheJudge: what is found quickly is a failure of the judge too, and a right target has
// none.
func TestProofsAreThoseOfTheJudge(t *testing.T) {
	proofs := 0
	for i, s := range bundled(t, scenario.ParseOptions{}) {
		if i%2 > 0 && os.Getenv("RLCHECK_SOAK") == "" {
			continue
		}
		for _, fault := range []string{"", s.Catches[0]} {
			wrong := *s
			wrong.Target.Fault = fault
			var quick result.Scenario
			synctest.Test(t, func(*testing.T) {
				quick = Scenario(context.Background(), &wrong,
					Options{ID: "m", Seed: 1, Embed: embedded, Network: new(lab.PipeNetwork),
						Pacer: transport.SleepingPacer(), OnlyProofs: true})
				time.Sleep(time.Minute)
			})
			full := quick
			Judge(&full, &wrong, quick.Timeline)
			if quick.Verdict == result.Fail {
				proofs++
			}
			if quick.Verdict == result.Fail && full.Verdict != result.Fail || fault == "" &&
				quick.Verdict != result.Inconclusive {
				t.Errorf("%s, fault %q: got %s in haste and %s at leisure: %s", s.ID, fault, quick.Verdict,
					full.Verdict, explain(quick))
			}
		}
		if testing.Short() && proofs > 3 {
			break
		}
	}
	if proofs < 4 {
		t.Errorf("got %d proofs, want most of the faults to have one", proofs)
	}
	t.Logf("%d proofs", proofs)
}
