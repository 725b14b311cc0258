package scenario_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/scenarios"
)

// sized reads a bundled scenario for a limit and a target given from outside.
func sized(t *testing.T, id, limit, longest string) *scenario.Scenario {
	t.Helper()
	return read(t, id+".yaml", scenario.ParseOptions{Limit: limit, Target: "http://127.0.0.1:1/",
		Set: []scenario.Setting{{Path: "safety.max_duration", Value: longest}}})
}

// read reads a bundled scenario.
func read(t *testing.T, name string, opts scenario.ParseOptions) *scenario.Scenario {
	t.Helper()
	src, err := fs.ReadFile(scenarios.FS, name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Parse(src, name, opts)
	if err != nil {
		t.Fatalf("%s, %+v: %v", name, opts, err)
	}
	return s
}

// TestNoSizeOfALimitIsAMistake: a bundled scenario is never refused because of the size of a limit given from
// outside. It keeps to its ceilings, or says what it would take.
func TestNoSizeOfALimitIsAMistake(t *testing.T) {
	names, err := fs.Glob(scenarios.FS, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []string{"fixed-window,rate=600/1m", "fixed-window,rate=1000/1h",
		"token-bucket,rate=5000/1h,burst=100", "token-bucket,rate=100000/1h,burst=2000",
		"fixed-window,rate=10000/720h", "sliding-window-log,rate=5/15m",
		"token-bucket,rate=10000/s,burst=5000", "fixed-window,rate=100000000/8000h",
		"token-bucket,rate=330000/1h,burst=5000"} {
		for _, name := range names {
			s := sized(t, strings.TrimSuffix(name, ".yaml"), limit, "10m")
			if s.Unmet() != "" {
				continue
			}
			if _, err := s.Plan("r", 1); err != nil && s.Summary().Requests < 100_000 {
				t.Errorf("%s, %s: %v", name, limit, err)
			}
			sum := s.Summary()
			if sum.Requests > s.Safety.MaxRequests || sum.Duration > s.Safety.MaxDuration ||
				sum.Connections > s.Safety.MaxConnections || sum.Requests == 0 {
				t.Errorf("%s, %s: it does not keep to its ceilings: %+v", name, limit, sum)
			}
		}
	}
}

// TestWhatALargeLimitTakes: clients in a closed loop use a large quota up. A rest longer than allowed is left
// out, with all that follows. A scenario that then shows nothing is not run.
func TestWhatALargeLimitTakes(t *testing.T) {
	s := sized(t, "burst", "fixed-window,rate=1000/1h", "10m")
	p := s.Phases[0]
	if len(s.Phases) != 1 || p.Shape != timeline.Closed || p.Clients != scenario.LeastClients ||
		p.Requests != 3000 {
		t.Errorf("got %d phases, the first of shape %s with %d clients", len(s.Phases), p.Shape, p.Clients)
	}
	if want := "not waited for: half-rest (36m), and not sent: half-full, full-again"; s.Unfit != want {
		t.Errorf("got %q, want %q", s.Unfit, want)
	}
	s = sized(t, "burst", "fixed-window,rate=20/1s", "10m")
	if s.Unfit != "" || s.Phases[0].Shape != timeline.AtOnce {
		t.Errorf("a small limit: got %q and shape %s", s.Unfit, s.Phases[0].Shape)
	}
	s = sized(t, "burst", "token-bucket,rate=10000/s,burst=5000", "10m")
	if p := s.Phases[0]; p.Clients != s.Safety.MaxConnections || s.Unfit != "" {
		t.Errorf("a quick limit: got %d clients and %q, want as many as there may be", p.Clients, s.Unfit)
	}
	s = sized(t, "retry-storm", "sliding-window-log,rate=1000/1h", "1h")
	if s.Unmet() == "" {
		t.Errorf("got phases %d and %q: a storm that no client can join is not run", len(s.Phases), s.Unfit)
	}
	s = sized(t, "sustained", "fixed-window,rate=1000/1h", "10m")
	want := "it takes 11,160 requests, at least 9h26m at up to 25/1m, " +
		"and may take at most 10m (safety.max_duration)"
	if s.Unmet() != want || s.Unfit != want {
		t.Errorf("got %q, want %q", s.Unmet(), want)
	}
}

// TestNoBoundExceedsWhatALimitDeniesItself: at 0.9 times some limits a client stays locked out, and the
// bundled scenario said that nothing is denied. No machine could pass it.
func TestNoBoundExceedsWhatALimitDeniesItself(t *testing.T) {
	const lockedOut = "such a limit denies requests of phase below too, so no rate is demanded"
	for limit, want := range map[string]string{
		"fixed-window,rate=5/2s,align=first,refresh=all":                                      lockedOut,
		"fixed-window,rate=5/2s,align=first,refresh=admitted,tick=1s":                         lockedOut,
		"sliding-window-counter,rate=5/2s,align=first,count=all,rounding=up,tick=1s":          lockedOut,
		"sliding-window-counter,rate=5/2s,align=first,count=all,rounding=down,tick=2ms":       "",
		"sliding-window-log,rate=5/2s,count=all":                                              "",
		"fixed-window,rate=5/2s,align=first,tick=1s":                                          "",
		"token-bucket,rate=5/2s,burst=5":                                                      "",
		"sliding-window-log,rate=5/2s,ban=2s":                                                 "",
		"token-bucket,rate=5000/1s,burst=5000+fixed-window,rate=5/2s,align=first,refresh=all": lockedOut,
	} {
		s := sized(t, "sustained", limit, "10m")
		if kept := len(s.Expect.Denials) == 1 && s.Expect.Resolution.Rate.Demanded; s.Unfit != want ||
			kept != (want == "") {
			t.Errorf("%s: got %q, and bounds kept: %v", limit, s.Unfit, kept)
		}
	}
	// the author of a file chose its limit and its bound
	s := read(t, "sustained.yaml", scenario.ParseOptions{})
	if len(s.Expect.Denials) != 1 {
		t.Errorf("got %+v, want the bound of the file", s.Expect.Denials)
	}
}

// TestASpanSaysATimeOnce: a run of six hours read "6h20m to 6h20m".
func TestASpanSaysATimeOnce(t *testing.T) {
	const s = time.Second
	for want, span := range map[string]scenario.Span{
		"at least 6s":         {6 * s, 6 * s},
		"up to 6s by plan":    {0, 6 * s},
		"2s to 6s by plan":    {2 * s, 6 * s},
		"6h20m by plan":       {22801 * s, 22805 * s},
		"2s to 15m2s by plan": {2 * s, 902 * s},
	} {
		if got := span.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestFlowsOfSeveralLimits: a flow at a multiple of a rate uses up the quota of that limit, the slowest or
// the fastest, and so does a burst at a pace. A flow that stays below its limit alone shows nothing, so it is
// not left as the only phase.
func TestFlowsOfSeveralLimits(t *testing.T) {
	const limit = "sliding-window-log,rate=5/1s + fixed-window,rate=100/1h"
	for id, want := range map[string]string{"sustained": "below 340 at 900/10h, above 660 at 300/2h",
		"several-limits": "hammer 208, keep-asking 30 at 15/2s"} {
		var got []string
		for _, p := range sized(t, id, limit, "168h").Phases {
			switch {
			case p.Rate.N > 0:
				got = append(got, fmt.Sprintf("%s %d at %s", p.Name, p.Requests, p.Rate))
			case p.Name == "hammer":
				got = append(got, fmt.Sprintf("%s %d", p.Name, p.Requests))
			}
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%s: got %s, want %s", id, got, want)
		}
	}
	s := sized(t, "sustained", "fixed-window,rate=1000/24h", "168h")
	if !strings.Contains(s.Unmet(), "at most 168h") {
		t.Errorf("got %d phases, %q", len(s.Phases), s.Unmet())
	}
}

// TestAnswersOfAQueueAreWaitedFor: an answer that a queue delays is no answer that is missing.
func TestAnswersOfAQueueAreWaitedFor(t *testing.T) {
	for limit, want := range map[string]time.Duration{
		"token-bucket,rate=10/s,burst=20":        5 * time.Second,
		"leaky-bucket-queue,rate=1/s,queue=9":    15 * time.Second,
		"leaky-bucket-queue,rate=1/1m,queue=100": 65 * time.Second,
	} {
		s := read(t, "burst.yaml", scenario.ParseOptions{Limit: limit})
		if s.Target.Timeout != want {
			t.Errorf("%s: got %v, want %v", limit, s.Target.Timeout, want)
		}
	}
}
