package identify

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestWindowsByTheFirstRequestAreSearchedExactlyLate: the bounds left 29 in 2.155 s beside the log of 29 in 2
// s, and nothing told them apart (seed 96).
func TestWindowsByTheFirstRequestAreSearchedExactlyLate(t *testing.T) {
	for _, far := range []bool{false, true} {
		x := &search{o: usualBudget(), far: far, tl: &timeline.Timeline{}}
		x.regions = []*space.Region{known(parsed(t, "fixed-window,rate=5/2s,align=first")[0])}
		if x.deepen(); x.regions[0].Kind.Searched {
			t.Errorf("far %v: it is searched at once", far)
		}
		x.tl.Observations = make([]timeline.Observation, x.o.MaxRequests)
		if x.deepen(); x.regions[0].Kind.Searched == far {
			t.Errorf("far %v: searched late is %v", far, !far)
		}
	}
}
