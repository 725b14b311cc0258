package trial

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// inARow runs the bundled scenarios one after the other against one limiter.
func inARow(t *testing.T, opts scenario.ParseOptions, fault string, only ...string) (all []result.Scenario) {
	t.Helper()
	limit, err := spec.Parse(opts.Limit)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		header := "X-Api-Key"
		if opts.Partition == "none" {
			header = "X-No-Client" // who asks without a key and is counted with it is not one of all
		}
		h, err := lab.New(lab.Options{Limit: limit, PartitionHeader: header, Fault: fault, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		n := new(lab.PipeNetwork)
		url, stop, err := n.Listen(h)
		if err != nil {
			t.Fatal(err)
		}
		opts.Target = url
		for _, s := range bundled(t, opts, only...) {
			if s.Example {
				continue
			}
			o := Options{ID: "m" + s.ID, Seed: 1, Embed: embedded, Network: n,
				Pacer:     transport.SleepingPacer(),
				WallError: time.Millisecond}
			all = append(all, Scenario(context.Background(), s, o))
		}
		_, _ = stop(), h.Close()
		time.Sleep(time.Minute)
	})
	return all
}

// TestScenariosOfOneQuotaPassInARow: where all clients share one quota, or keys are those of the scenario
// before, each scenario waits until the limiter has forgotten what was, and resolves what it does with new
// clients. What needs several clients is not judged.
func TestScenariosOfOneQuotaPassInARow(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	limits := []string{"token-bucket,rate=10/s,burst=20", "fixed-window,rate=20/1s",
		"fixed-window,rate=20/1s,align=first", "sliding-window-log,rate=20/1s"}
	if os.Getenv("RLCHECK_SOAK") == "" {
		limits = limits[:2]
	}
	for i, limit := range limits {
		for name, opts := range map[string]scenario.ParseOptions{
			"none": {Partition: "none"},
			"kept": {Set: []scenario.Setting{{Path: "partition.fresh", Value: "false"}}},
		} {
			if i > 0 && (name == "none") == (i%2 > 0) { // in turn
				continue
			}
			opts.Limit = limit
			opts.Promises = result.Promises()
			for _, out := range inARow(t, opts, "") {
				if out.Verdict != result.Pass && !out.Uncounted() {
					t.Errorf("%s, %s: %s: %s: %s", limit, name, out.ID, out.Verdict, explain(out))
				}
			}
		}
	}
}

// TestOneQuotaCatchesFaults: what a scenario catches with new clients it catches where all share one quota,
// and a right target passes.
func TestOneQuotaCatchesFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for _, s := range bundled(t, scenario.ParseOptions{Partition: "none"}, "burst", "concurrent-race",
		"replicas") {
		if out := virtually(t, s); out.Verdict != result.Pass {
			t.Errorf("%s: got %s: %s", s.ID, out.Verdict, explain(out))
		}
		for _, fault := range s.Catches {
			if out := against(t, s, fault); out.Verdict != result.Fail {
				t.Errorf("%s, %s: got %s: %s", s.ID, fault, out.Verdict, explain(out))
			}
		}
	}
}

// TestARestShowsALargerBurst: a scenario that follows another one fails for a burst that is one unit larger:
// the rest between them gives back more than declared.
func TestARestShowsALargerBurst(t *testing.T) {
	opts := scenario.ParseOptions{Partition: "none", Limit: "token-bucket,rate=10/s,burst=5"}
	all := inARow(t, opts, "burst-off-by-one")
	for _, out := range all[len(all)/2:] {
		if out.ID == "replicas" && out.Verdict != result.Fail {
			t.Errorf("%s: got %s: %s", out.ID, out.Verdict, explain(out))
		}
	}
}
