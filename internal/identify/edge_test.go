package identify

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
)

// TestAClockThatTicksIsNoShorterWindow: 5 in 3 s by a clock that ticks every 100 ms was named 5 in 2.93 s, as
// no silence ended just after that. The search stops at rare kinds.
func TestAClockThatTicksIsNoShorterWindow(t *testing.T) {
	var x *search
	x = begun(simulate(t, parsed(t, "sliding-window-log,rate=5/3s,tick=100ms"), 1), usualBudget(),
		func() bool { return x.stage > 0 })
	if res := x.answer(t.Context()); res.Verdict == identity.Identified {
		t.Errorf("got %s", res.Summary())
	}
}
