package trial

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/scenario/grammar"
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

// TestABoundaryThatWasMissedIsNoPass: what was sent after it, or may have been decided after it, says nothing
// of the end of a window. A FAIL needs no boundary, and a quarter of the requests may miss it.
func TestABoundaryThatWasMissedIsNoPass(t *testing.T) {
	const sent, answered = "were sent after it", "were answered after it"
	for _, x := range []struct {
		fault, what string
		n           int
		want        verdict.Verdict
		reason      verdict.Reason
	}{
		{"", sent, 14, verdict.Inconclusive, verdict.ScheduleMissed},
		{"", answered, 40, verdict.Inconclusive, verdict.TooFew},
		{"", sent, 13, verdict.Pass, ""},
		{"", answered, 39, verdict.Pass, ""},
		{"reset-of-next-window", sent, 14, verdict.Fail, ""},
	} {
		s := named(t, "window-edge")
		out := against(t, s, x.fault)
		all := out.Timeline.Observations // 40 are due 25 ms before it, and 40 as long after it
		for i := range x.n {
			if x.what == sent {
				all[40+i].At -= 50 * time.Millisecond
			} else {
				all[39-i].FirstByte += 26 * time.Millisecond
			}
		}
		Judge(&out, s, out.Timeline)
		told := x.want != verdict.Inconclusive || strings.Contains(out.Detail, x.what)
		if out.Verdict != x.want || out.Reason != x.reason || !told {
			t.Errorf("fault %q, %d %s: got %s %s %s, want %s %s", x.fault, x.n, x.what, out.Verdict,
				out.Reason, out.Detail, x.want, x.reason)
		}
	}
}

// named returns a bundled scenario.
func named(t *testing.T, id string) *scenario.Scenario {
	t.Helper()
	for _, s := range bundled(t, grammar.Options{}, id) {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("no bundled scenario is called %q", id)
	return nil
}
