package trial

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestALowerRateThanPlannedIsNoPass: what was sent at half of its rate says nothing of the whole. A FAIL
// needs no rate, and a single stall is none.
func TestALowerRateThanPlannedIsNoPass(t *testing.T) {
	s := named(t, "sustained")
	for fault, want := range map[string]verdict.Verdict{"": verdict.Inconclusive,
		"never-recovers": verdict.Fail} {
		sent := against(t, s, fault)
		out := sent
		for i := range out.Timeline.Observations { // as if the generator had needed twice the time
			o := &out.Timeline.Observations[i]
			if o.Phase == "below" {
				o.At = o.Sent / 3
			}
		}
		Judge(&out, s, out.Timeline)
		if out.Verdict != want || want == verdict.Inconclusive &&
			(out.Reason != verdict.ScheduleMissed || !strings.Contains(out.Detail, "below was sent in")) {
			t.Errorf("fault %q: got %s %s %s, want %s", fault, out.Verdict, out.Reason, out.Detail, want)
		}
	}
	out := against(t, s, "")
	out.Timeline.Observations[20].At -= 100 * time.Millisecond
	if Judge(&out, s, out.Timeline); out.Verdict != verdict.Pass {
		t.Errorf("late by 100 ms: got %s, want pass", out.Verdict)
	}
}

// named returns a bundled scenario.
func named(t *testing.T, id string) *scenario.Scenario {
	t.Helper()
	for _, s := range bundled(t, scenario.ParseOptions{}, id) {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("no bundled scenario is called %q", id)
	return nil
}
