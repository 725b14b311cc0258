package load

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestVirtualTimeHasNoStalls: a process that did not stand still reports no stall.
func TestVirtualTimeHasNoStalls(t *testing.T) {
	virtual(t, ok, func(t *testing.T, o Options) {
		tl := mustRecord(t, schedule(timeline.Phase{Name: "a", Shape: timeline.Constant,
			Arrivals: each(3, time.Second, "k", 0)}), o)
		if len(tl.Header.Stalls) > 0 {
			t.Errorf("got stalls %v of a run in virtual time, want none", tl.Header.Stalls)
		}
	})
}
