package check

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAStopIsNoReasonToCallATargetDown: requests that still waited when the recording was stopped say nothing
// about the target.
func TestAStopIsNoReasonToCallATargetDown(t *testing.T) {
	waiting, refused := timeline.Observation{Error: "interrupted"}, timeline.Observation{Error: "refused"}
	for _, x := range []struct {
		obs  []timeline.Observation
		want result.Reason
		text string
	}{
		{[]timeline.Observation{waiting, waiting}, result.Interrupted,
			"the recording stopped while 2 requests waited for an answer, and none had come"},
		{[]timeline.Observation{refused, waiting}, result.Unreachable,
			"none of 2 requests was answered: refused"},
		{[]timeline.Observation{waiting, refused}, result.Unreachable,
			"none of 2 requests was answered: refused"},
	} {
		f := history.FactsOf(x.obs)
		if reason, text := f.NothingKnown(); reason != x.want || text != x.text {
			t.Errorf("got %s: %s, want %s: %s", reason, text, x.want, x.text)
		}
	}
}
