package trial

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestQueuedRequestsAccuseNobody: a limiter that makes the decisions of an outage when its store is back
// answers nothing meanwhile, which is its fault. What these decisions use up later is not.
func TestQueuedRequestsAccuseNobody(t *testing.T) {
	all := bundled(t, scenario.ParseOptions{}, "store-outage")
	s := all[0]
	out := against(t, s, "outage-queues")
	admitted := 0
	for _, o := range out.Timeline.Observations {
		if o.Phase == "back" && o.Outcome == timeline.Allowed {
			admitted++
		}
	}
	if full := int(s.Limit[0].Full()); admitted >= full {
		t.Fatalf("%d requests were admitted behind the outage, want fewer than %d", admitted, full)
	}
	if j := judgedAgain(t, out.Timeline); j.Verdict == result.Fail {
		t.Errorf("the recording alone is judged %s: %v", j.Verdict, j.Partitions[0].Findings)
	}
	for _, c := range out.Claims {
		if silent := c.ID == "answers-gone"; (c.Verdict == result.Fail) != silent {
			t.Errorf("%s: got %s, %s", c.ID, c.Verdict, c.Text)
		}
		if c.ID != "answers-gone" || len(c.Findings) == 0 {
			continue
		}
		if f := c.Findings[0]; f.Kind != result.Unanswered || f.Seen != 40 {
			t.Errorf("got %v, want 40 requests without an answer", c.Findings)
		}
	}
}
