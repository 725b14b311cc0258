package trial

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestWhatWasNotSentIsNoPass: of a schedule of which a part was not sent nobody knows what the answers would
// have been. A FAIL needs no more than what was sent.
func TestWhatWasNotSentIsNoPass(t *testing.T) {
	all := bundled(t, scenario.ParseOptions{}, "sustained")
	s := all[0]
	for fault, want := range map[string]result.Verdict{"": result.Inconclusive,
		"never-recovers": result.Fail} {
		sent := against(t, s, fault)
		if sent.Verdict == result.Inconclusive || sent.Counts.Unsent != 0 {
			t.Fatalf("fault %q: got %s, %d unsent, want all sent and a verdict: %s", fault, sent.Verdict,
				sent.Counts.Unsent, explain(sent))
		}
		out := sent
		out.Timeline.Header.Unsent = 3
		Judge(&out, s, out.Timeline)
		if out.Verdict != want || want == result.Inconclusive &&
			(out.Reason != result.ScheduleMissed || !strings.HasPrefix(out.Detail, "3 of ")) {
			t.Errorf("fault %q, three not sent: got %s %s %s, want %s", fault, out.Verdict, out.Reason,
				out.Detail, want)
		}
	}
	few := against(t, s, "")
	few.Timeline.Header.Unsent = few.Counts.Sent - 3
	few.Timeline.Observations = few.Timeline.Observations[:3]
	for _, client := range []string{few.Timeline.Observations[2].Partition, "never answered"} {
		last := &few.Timeline.Observations[2]
		last.Partition = client
		if client == "never answered" {
			last.Answered, last.Outcome, last.Status, last.Error = false, timeline.Unknown, 0, "timeout"
			last.FirstByte, last.Done = 0, 0
		}
		if Judge(&few, s, few.Timeline); few.Reason != result.ScheduleMissed {
			t.Errorf("three of %d were sent: got %s %s %s, want %s", few.Counts.Planned, few.Verdict,
				few.Reason, few.Detail, result.ScheduleMissed)
		}
	}
}
