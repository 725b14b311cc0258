package scenario_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestMultiplesAreOfThePhasesLimit(t *testing.T) {
	s, plan := Planned(t, "name: a, shape: at-once, requests: 2x",
		"name: b, shape: at-once, requests: 2x, limit: 3x, partition: b",
		"name: c, shape: constant, rate: 2x, duration: 1x, limit: 'fixed-window,rate=7/2s', partition: c",
		"name: d, shape: at-once, requests: 1x, limit: none, partition: d",
		"name: e, shape: at-once, requests: 2x, limit: zero, partition: d")
	for i, want := range []string{"10 token-bucket,rate=10/s,burst=5 false false",
		"30 token-bucket,rate=30/s,burst=15 true false", "14 fixed-window,rate=7/2s true false",
		"5 token-bucket,rate=10/s,burst=5 true true", "10 token-bucket,rate=10/s,burst=5 true false"} {
		p := s.Phases[i]
		if got := fmt.Sprintf("%d %s %v %v", len(plan.Phases[i].Arrivals)/2, p.Limit, p.OwnLimit,
			p.Unlimited); got != want {
			t.Errorf("phase %s: got %s, want %s", p.Name, got, want)
		}
	}
	if d := cmp.Diff([]string{"e"}, s.Expect.Barred); d != "" || s.Phases[4].Counted() ||
		s.Phases[3].Counted() || !s.Phases[2].Counted() {
		t.Errorf("barred phases, and those that are counted: %s %+v", d, s.Phases)
	}
}

func TestLimitsGrowByTheirUnits(t *testing.T) {
	for spec, want := range map[string]string{
		"token-bucket,rate=10/s,burst=5":       "token-bucket,rate=30/s,burst=15",
		"leaky-bucket-queue,rate=10/s,queue=4": "leaky-bucket-queue,rate=30/s,queue=14",
		"fixed-window,rate=10/1m":              "fixed-window,rate=30/1m",
		"gcra,rate=1/s,burst=1 + sliding-window-log,rate=9/1m": "gcra,rate=3/s,burst=3 + " +
			"sliding-window-log,rate=27/1m",
	} {
		s, err := scenario.Parse([]byte("id: x\ntitle: x\nkind: required\nlimit: '"+spec+
			"'\nphases: [{name: a, shape: at-once, requests: 1x, limit: 3x}]\n"), "x",
			scenario.ParseOptions{})
		if err != nil {
			t.Error(err)
		} else if got := s.Phases[0].Limit.String(); got != want {
			t.Errorf("three times %s: got %s, want %s", spec, got, want)
		}
	}
}

func TestRetriesAndEventsAreComplete(t *testing.T) {
	s, plan := Planned(t,
		"name: b, shape: backoff, clients: 4, duration: 1s, retry: {policy: fixed, base: 50ms, breaker: 2}",
		"name: h, shape: hook, action: reload, limit: 2x",
		"name: i, shape: hook, action: restart, command: 'kill $${PID}', timeout: 2s")
	r := plan.Phases[0].Retry
	if r.Seed == 0 || r.Base != 50*time.Millisecond || r.Max != 500*time.Millisecond ||
		r.Open != 250*time.Millisecond || plan.Phases[0].Clients != 4 || plan.Phases[0].Requests != 2*4*90 {
		t.Errorf("got %+v with %d requests", r, plan.Phases[0].Requests)
	}
	for i, want := range []timeline.Event{{Action: timeline.Reload, Limit: "token-bucket,rate=20/s,burst=10",
		Timeout: 30 * time.Second},
		{Action: timeline.Restart, Command: "kill ${PID}", Timeout: 2 * time.Second}} {
		if got := plan.Phases[i+1].Event; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if why := s.Unmet(); why != "" {
		t.Errorf("the embedded target needs nothing, got %s", why)
	}
	s.Target.URL = "http://127.0.0.1/"
	if why := s.Unmet(); !strings.HasPrefix(why, `phase "h" does reload to the target`) ||
		!strings.Contains(why, "phases.h.command") {
		t.Errorf("another target: got %q, want the phase without a command", why)
	}
}

// TestStormsDrainWhereThereIsRoom: a storm must drain only if the limit has room for it.
func TestStormsDrainWhereThereIsRoom(t *testing.T) {
	for limit, want := range map[string]bool{"token-bucket,rate=10/s,burst=5": true,
		"token-bucket,rate=9/s,burst=5":            false,
		"token-bucket,rate=10/s,burst=5,count=all": false, "fixed-window,rate=100/s,align=first": true,
		"fixed-window,rate=100/s,align=first,refresh=all": false} {
		s, err := scenario.Parse([]byte("id: x\ntitle: x\nkind: required\nlimit: '"+limit+
			"'\nphases: [{name: a, shape: backoff, clients: 10, duration: 1s, retry: {policy: "+
			"fixed}}]\nexpect: {storm: [{phase: a, drained: true}]}\n"), "x", scenario.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Expect.Storms[0]; got.Drained != want || got.Clients != 10 {
			t.Errorf("%s: got %+v, want drained %v", limit, got, want)
		}
	}
}

func TestSecretsOfPhasesAreKnown(t *testing.T) {
	src := "id: x\ntitle: x\nkind: required\nlimit: {algorithm: token-bucket, rate: 10/s, burst: " +
		"5}\nphases: [{name: a, shape: at-once, requests: 1, header: {Authorization: \"Bearer ${KEY}\"}}]\n"
	env := func(string) (string, bool) { return "hush", true }
	s, err := scenario.Parse([]byte(src), "x", scenario.ParseOptions{Env: env})
	if err != nil || !slices.Equal(s.Secrets, []string{"hush"}) {
		t.Errorf("got %v, %v, want the secret", s, err)
	}
}

// TestWhoElseUsesThePartitions: claims are told whether others may use the partitions, or an earlier run may
// have used them.
func TestWhoElseUsesThePartitions(t *testing.T) {
	const src = "id: x\ntitle: x\nkind: required\ntarget: {url: builtin}\nlimit: " +
		"\"token-bucket,rate=1/s,burst=2\"\nphases:\n  - {name: a, shape: at-once, requests: " +
		"3UNNAMED}\npartition: {header: K, fresh: FRESH, exclusive: EXCLUSIVE}\n"
	for words, want := range map[[3]string][2]bool{
		{"", "true", "true"}: {}, {"", "true", "false"}: {true, false}, {"", "false", "true"}: {false, true},
		{", unnamed: true, partition: n", "true", "true"}: {true, false},
	} {
		text := strings.NewReplacer("UNNAMED", words[0], "FRESH", words[1], "EXCLUSIVE",
			words[2]).Replace(src)
		s, err := scenario.Parse([]byte(text), "x.yaml", scenario.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{s.Expect.Shared, s.Expect.Used}; got != want {
			t.Errorf("%v: got shared and used %v, want %v", words, got, want)
		}
	}
}

// TestAnswersToHEADHaveNoBody: that holds however a phase came to its method.
func TestAnswersToHEADHaveNoBody(t *testing.T) {
	const src = "id: x\ntitle: x\nkind: required\ntarget: {url: builtin, method: TARGET}\nlimit: " +
		"\"token-bucket,rate=1/s,burst=2\"\nphases:\n  - {name: a, shape: at-once, requests: 3}\n  - " +
		"{name: s, shape: silence, duration: 1s}\n  - {name: b, shape: at-once, requests: 3, method: HEAD}\n"
	for method, want := range map[string]string{"GET": "b", "HEAD": "a b"} {
		text := strings.Replace(src, "TARGET", method, 1)
		s, err := scenario.Parse([]byte(text), "x.yaml", scenario.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Expect.Bodiless, " "); got != want {
			t.Errorf("%s: got %s, want %s", method, got, want)
		}
	}
}

// TestLatencyIsBoundByTheSlowestLimit: a queue delays what it admits by at most the time that it takes to
// empty. That includes the queue of a single phase.
func TestLatencyIsBoundByTheSlowestLimit(t *testing.T) {
	const head = "id: x\ntitle: x\nkind: required\nlimit: " +
		"\"leaky-bucket-queue,rate=10/s,queue=9\"\nexpect: {latency: {allowed_max: 2x}}\nphases:\n" +
		"  - {name: a, shape: at-once, requests: 2x}\n"
	for _, x := range []struct {
		phase string
		want  time.Duration
	}{
		{"", 2 * time.Second},
		{"  - {name: b, shape: at-once, requests: 2x, partition: b, limit: " +
			"\"leaky-bucket-queue,rate=1/s,queue=9\"}\n", 20 * time.Second},
		{"  - {name: b, shape: at-once, requests: 2x, partition: b, limit: " +
			"\"leaky-bucket-queue,rate=100/s,queue=9\"}\n", 2 * time.Second},
		{"  - {name: b, shape: at-once, requests: 2x, partition: b, limit: none}\n", 2 * time.Second},
	} {
		s, err := scenario.Parse([]byte(head+x.phase), "x.yaml", scenario.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Expect.Latency[0].Max; got != x.want {
			t.Errorf("with phase %q: got %s, want %s", x.phase, got, x.want)
		}
	}
}
