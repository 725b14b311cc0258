package trial

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const head = "id: x\ntitle: x\nkind: required\nlimit: {algorithm: token-bucket, rate: 10/s, burst: 5}\n"

func parsed(t *testing.T, src string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse([]byte(head+src), "x.yaml", scenario.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCommandsHaveAnEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		event        timeline.Event
		output, fail string
	}{
		"done":   {timeline.Event{Command: "echo out; echo err >&2"}, "out\nerr\n", ""},
		"failed": {timeline.Event{Command: "exit 3"}, "", "exit status 3"},
		"too long": {timeline.Event{Command: "sleep 60 & sleep 60", Timeout: 50 * time.Millisecond}, "",
			"not done within 50ms"},
		"nothing to ask": {timeline.Event{Command: "cat"}, "", ""},
	} {
		if tt.event.Timeout == 0 {
			tt.event.Timeout = time.Minute
		}
		var out bytes.Buffer
		x := &events{output: &out}
		err := x.do(context.Background(), tt.event)
		if got := out.String(); got != tt.output || (err == nil) != (tt.fail == "") || err != nil &&
			!strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%s: got %q, %v, want %q, %s", name, got, err, tt.output, tt.fail)
		}
		if (x.failed == nil) != (err == nil) {
			t.Errorf("%s: got %v kept, want %v", name, x.failed, err)
		}
	}
}

// TestCountsOfTheTarget: a count is the number that the command prints, and nothing else.
func TestCountsOfTheTarget(t *testing.T) {
	for command, want := range map[string]string{
		"echo 12": "[12]", "echo ' 12.0'": "[12]", "echo 1e3": "[1000]", "echo 0": "[0]",
		"echo": "[]", "echo 1.5": "[]", "echo -1": "[]", "echo twelve": "[]", "echo 1; echo 2": "[]",
		"echo 12; exit 1": "[]", "echo NaN": "[]", "echo Inf": "[]",
	} {
		var out bytes.Buffer
		x := &events{output: &out}
		event := timeline.Event{Action: timeline.Count, Command: command, Timeout: time.Minute}
		err := x.do(context.Background(), event)
		if got := fmt.Sprint(x.counted); got != want || (err == nil) != (want != "[]") {
			t.Errorf("%s: got %s, %v, want %s", command, got, err, want)
		}
	}
}

// A hook that fails leaves nothing to say of the target, unless what came before it says enough.
func TestFailedHooksAreInconclusive(t *testing.T) {
	for requests, want := range map[string]result.Verdict{"3x": result.Fail, "1x": result.Inconclusive} {
		s := parsed(t, "target: {fault: burst-off-by-one}\nphases:\n  - {name: a, shape: at-once, requests: "+
			requests+
			"}\n  - {name: h, shape: hook, action: reload}\n  - {name: b, shape: at-once, requests: 1x, "+
			"partition: b}\nexpect: {resolution: {burst: none, rate: none}}\n")
		s.Phases[1].Event.Limit = "no limit"
		out := virtually(t, s)
		if out.Verdict != want || want == result.Inconclusive &&
			(out.Reason != result.SetupFailed || !strings.HasPrefix(out.Detail, "reload: ")) {
			t.Errorf("%s: got %s %s %s, want %s", requests, out.Verdict, out.Reason, out.Detail, want)
		}
	}
}

func TestPartitionsAreJudgedByTheirLimits(t *testing.T) {
	s := parsed(t, `phases:
  - {name: general, shape: at-once, requests: 2x, partition: g, client: app}
  - {name: route, shape: at-once, requests: 2x, path: /r, limit: 3x, partition: r, client: app}
  - {name: free, shape: at-once, requests: 2x, path: /f, limit: none, partition: f, client: app}
expect: {resolution: {burst: exact, rate: none}}
`)
	out := virtually(t, s)
	if out.Verdict != result.Pass {
		t.Fatalf("got %s: %s", out.Verdict, explain(out))
	}
	if got, want := out.Judgement.Measured.Burst.String(), "5..5"; got != want {
		t.Errorf("the limit of the scenario: got burst %s, want %s", got, want)
	}
	var names []string
	for _, p := range out.Judgement.Partitions {
		names = append(names, p.Partition)
	}
	if d := cmp.Diff([]string{"m-g-1", "m-r-1"}, names); d != "" {
		t.Error(d)
	}
	for name, want := range map[string]string{"route-limit-ignored": "m-r-1",
		"routes-share-counter": "m-g-1"} {
		wrong := *s
		wrong.Phases = append([]scenario.Phase{s.Phases[1], s.Phases[0]}, s.Phases[2:]...)
		wrong.Target.Fault = name
		out := virtually(t, &wrong)
		if len(out.Claims) == 0 || len(out.Claims[0].Findings) == 0 {
			t.Errorf("%s: got %s, want findings: %s", name, out.Verdict, explain(out))
			continue
		}
		found := false
		for _, f := range out.Claims[0].Findings {
			found = found || f.Partition == want
		}
		if !found {
			t.Errorf("%s: got %+v, want a finding in %s", name, out.Claims[0].Findings, want)
		}
	}
}

// What a pass must be worth depends on whether a window may begin in a burst.
func TestWindowsHaveAResolutionOfTheirOwn(t *testing.T) {
	for resolution, want := range map[string][2]float64{
		"{burst: 10%, windowed: 60%, rate: none}": {0.1, 0.6}, "{burst: 10%, rate: none}": {0.1, 0.1},
		"{rate: none}":                  {0, 0},
		"{burst: 10%, windowed: exact}": {0.1, 0},
	} {
		for i, limit := range []string{"gcra,rate=1/s,burst=5", "fixed-window,rate=5/1s"} {
			src := head + "phases: [{name: a, shape: at-once, requests: 2x}]\nexpect: {resolution: " +
				resolution + "}\n"
			s, err := scenario.Parse([]byte(src), "x.yaml", scenario.ParseOptions{Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			if got := judgeOptions(s).Resolution; got.Burst != want[i] || got.BurstExact != (want[i] == 0) {
				t.Errorf("%s with %s: got %+v, want %g", resolution, limit, got, want[i])
			}
		}
	}
}

// A phase of fewer than three windows cannot tell how long they are.
func TestTheRateOfWindowsIsDemandedOfLongPhases(t *testing.T) {
	for limit, want := range map[string]float64{"gcra,rate=1/1m,burst=5": 0.25,
		"fixed-window,rate=5/20s": 0.25, "sliding-window-log,rate=5/21s": 0,
		"gcra,rate=1/s,burst=5 + sliding-window-counter,rate=50/1m": 0} {
		src := head + "phases: [{name: a, shape: constant, rate: 5/s, duration: 60s}, {name: b, shape: " +
			"silence, duration: 5m}]\nexpect: {resolution: {rate: 25%}}\n"
		s, err := scenario.Parse([]byte(src), "x.yaml", scenario.ParseOptions{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		if got := judgeOptions(s).Resolution.Rate; got != want {
			t.Errorf("%s: got %g, want %g", limit, got, want)
		}
	}
}

func TestSchedulesAreKeptWithoutSecrets(t *testing.T) {
	secret := timeline.Request{Header: map[string]string{"A": "Bearer hush", "B": "c"}}
	plan := &timeline.Schedule{Phases: []timeline.Phase{{Request: secret}, {}}}
	got := RedactSchedule(plan, []string{"hush"})
	if d := cmp.Diff(map[string]string{"B": "c"}, got.Phases[0].Request.Header); d != "" {
		t.Error(d)
	}
	if len(plan.Phases[0].Request.Header) != 2 {
		t.Error("the schedule that is sent lost a field")
	}
}

func TestAllowedStatusesAreThoseOfTheScenario(t *testing.T) {
	for status, want := range map[int][2]timeline.Outcome{
		200: {timeline.Allowed, timeline.Allowed}, 301: {timeline.Allowed, timeline.Unknown},
		404: {timeline.Unknown, timeline.Unknown},
		429: {timeline.Denied, timeline.Denied}, 503: {timeline.Unknown, timeline.Unknown},
	} {
		if got := classifier(nil, []int{429})(status); got != want[0] {
			t.Errorf("%d: got %s, want %s", status, got, want[0])
		}
		if got := classifier([]int{200, 429}, []int{429})(status); got != want[1] {
			t.Errorf("%d where only 200 is allowed: got %s, want %s", status, got, want[1])
		}
	}
}
