package check

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A request that costs more than a full start admits is denied, whatever came before; one that costs as much is not.
func TestTooCostlyRequestsAreDenied(t *testing.T) {
	for _, spec := range []string{"token-bucket,rate=1/s,burst=5", "gcra,rate=1/s,burst=5", "leaky-bucket,rate=1/s,burst=5",
		"fixed-window,rate=5/1s", "sliding-window-log,rate=5/1s", "sliding-window-counter,rate=5/1s"} {
		limit, err := reference.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		for cost, want := range map[int64]Verdict{5: Fail, 6: Pass, 1_000_000: Pass} {
			tl := &timeline.Timeline{Observations: []timeline.Observation{{
				Arrival: timeline.Arrival{Cost: cost}, Sent: 50 * time.Millisecond, FirstByte: 51 * time.Millisecond, Answered: true,
				Status: 429, Outcome: timeline.Denied}}}
			j, err := Judge(tl, limit, Options{SkipMeasure: true})
			if err != nil || j.Verdict != want {
				t.Errorf("%s, a denial of cost %d: got %v, %v, want %s", spec, cost, j.Verdict, err, want)
			}
		}
	}
}
