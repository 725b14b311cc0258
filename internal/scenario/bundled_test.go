package scenario

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/scenarios"
)

// bundled returns the scenario files that come with rlcheck, by name.
func bundled(t *testing.T) map[string][]byte {
	t.Helper()
	names, err := fs.Glob(scenarios.FS, "*.yaml")
	if err != nil || len(names) < 6 {
		t.Fatalf("bundled scenarios: got %q, %v, want at least six", names, err)
	}
	all := make(map[string][]byte, len(names))
	for _, name := range names {
		src, err := scenarios.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = src
	}
	return all
}

// limits are one limit of each kind, and limits measured of real limiters.
func limits() []string {
	return []string{"", "token-bucket,rate=10/s,burst=1", "gcra,rate=100/1m,burst=5",
		"leaky-bucket,rate=10/s,burst=21", "leaky-bucket-queue,rate=10/s,queue=50",
		"fixed-window,rate=100/1m", "fixed-window,rate=100/1m,align=first",
		"fixed-window,rate=100/1m,align=unknown", "fixed-window,rate=50/1s,phase=100ms",
		"sliding-window-log,rate=100/1m", "sliding-window-counter,rate=5/2s,rounding=down",
		"token-bucket,rate=10/s,burst=20 + fixed-window,rate=100/1m"}
}

func TestBundledScenariosPlanForEveryLimit(t *testing.T) {
	for name, src := range bundled(t) {
		for _, limit := range limits() {
			s, err := Parse(src, name, ParseOptions{Limit: limit})
			if err != nil {
				t.Errorf("%s with limit %q: %v", name, limit, err)
				continue
			}
			if s.Unmet() != "" {
				continue // it is about another kind of limit
			}
			plan, err := s.Plan("run", 1)
			if err != nil {
				t.Errorf("%s with limit %q: plan: %v", name, limit, err)
				continue
			}
			requests, lasts := plan.Planned()
			sum := s.Summary()
			if requests != sum.Requests || lasts != sum.Duration || requests == 0 {
				t.Errorf("%s with limit %q: the plan has %d requests in %s, the summary %d in %s", name,
					limit, requests, lasts, sum.Requests, sum.Duration)
			}
		}
	}
}

func TestBundledScenariosKeepTheHouseRules(t *testing.T) {
	sources, err := os.ReadFile("../../scenarios/SOURCES.md")
	if err != nil {
		t.Fatal(err)
	}
	whole := time.Duration(0)
	for name, src := range bundled(t) {
		s, warnings, err := Lint(src, name, ParseOptions{})
		if err != nil || len(warnings) > 0 {
			t.Fatalf("lint %s: got %v, %v, want nothing", name, warnings, err)
		}
		whole += s.Summary().Duration
		if s.ID+".yaml" != name {
			t.Errorf("%s: id is %q", name, s.ID)
		}
		anchor, ok := strings.CutPrefix(s.Source, "SOURCES.md#")
		if !ok || !strings.Contains(string(sources), "\n## "+anchor+"\n") {
			t.Errorf("%s: source %q is no heading of SOURCES.md", name, s.Source)
		}
		partition := s.Partition
		partition.Count = 1
		switch s.ID { // whose clients are no keys
		case "invented-keys", "login-guessing":
			partition.Kind, partition.Name = ByHeader, "X-Api-Key"
		}
		if s.Target.URL != Builtin || partition != newDraft("").Partition {
			t.Errorf("%s: got target %q and partition %+v, want the defaults but for the count", name,
				s.Target.URL, s.Partition)
		}
	}
	if whole > time.Minute {
		t.Errorf("all bundled scenarios together are planned to take %s, want at most 1m, as make demo "+
			"waits for them (shorten some, or move yours to scenarios/more)", whole)
	}
}

func TestBurstSuitsNginx(t *testing.T) {
	s, err := Parse(bundled(t)["burst.yaml"], "burst.yaml",
		ParseOptions{Target: "http://127.0.0.1:8080/", Limit: "leaky-bucket,rate=10/s,burst=21"})
	if err != nil {
		t.Fatal(err)
	}
	if sum := s.Summary(); sum.Requests != 3*63 ||
		sum.Duration != 1260*time.Millisecond+2310*time.Millisecond || sum.Hosts[0] != "127.0.0.1:8080" {
		t.Errorf("got %d requests in %s to %q, want 189 in 3.57s to 127.0.0.1:8080", sum.Requests,
			sum.Duration, sum.Hosts)
	}
}

// TestBundledScenariosCanShowWhatTheyClaim: what a scenario claims to show follows from its numbers. The test
// does the sums.
func TestBundledScenariosCanShowWhatTheyClaim(t *testing.T) {
	for _, limit := range limits() {
		parse := func(name string) *Scenario {
			s, err := Parse(bundled(t)[name+".yaml"], name, ParseOptions{Limit: limit})
			if err != nil {
				t.Fatalf("%s with limit %q: %v", name, limit, err)
			}
			return s
		}
		s := parse("sustained")
		b, above := boundsOf(s.Limit, 1), s.Phases[1]
		// A bucket is drained after burst/(1.5r - r). What comes then must resolve the rate to 10 %, so that
		// ten units or more are needed.
		after := b.rate.PerSecond()*above.Duration.Seconds() - 2*float64(b.full)
		if after < 20 {
			t.Errorf("sustained with limit %q: %.1f units come back after the bucket is drained, want at "+
				"least 20", limit, after)
		}
		waits := 0
		for _, p := range parse("retry-after").Phases {
			if p.Shape == timeline.HonorRetryAfter && p.Clients == 1 {
				waits += int(p.Duration / (1100 * time.Millisecond))
			}
		}
		if waits < 5 {
			t.Errorf("retry-after with limit %q: it has room for %d waits of 1s, want 5", limit, waits)
		}
		o := parse("overload-10x")
		if got, need := o.Phases[0].Requests, boundsOf(o.Limit, 1).full; int64(got) <= need {
			t.Errorf("overload-10x with limit %q: %d requests do not use up %d", limit, got, need)
		}
	}
}

// TestSpreadWaitsTakeLonger: a phase whose clients wait as they are told lasts until spread waits are over.
func TestSpreadWaitsTakeLonger(t *testing.T) {
	for spread, want := range map[string]time.Duration{"0%": 4800 * time.Millisecond,
		"50%": 7200 * time.Millisecond} {
		s, err := Parse(bundled(t)["retry-after.yaml"], "retry-after.yaml",
			ParseOptions{Limit: "fixed-window,rate=5/4s",
				Set: []Setting{{Path: "expect.retry_after_spread", Value: spread}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Phases[1].Duration; got != want {
			t.Errorf("%s: got %s, want %s", spread, got, want)
		}
	}
}
