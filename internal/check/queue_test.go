package check

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A burst of five at a queue of two places: one is served at once, two wait, two are denied. That the queue has no more
// than two places is seen; that it has no fewer cannot be, so it is not demanded.
func TestQueueIsMeasuredFromAbove(t *testing.T) {
	tl := &timeline.Timeline{}
	for i, until := range []time.Duration{1, 21, 41, 1, 1} {
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, FirstByte: until, Answered: true, Outcome: timeline.Allowed}
		if i >= 3 {
			o.Outcome = timeline.Denied
		}
		tl.Observations = append(tl.Observations, o)
	}
	for _, c := range []struct {
		places int64
		want   Verdict
	}{
		{1, Inconclusive}, // three may be admitted, if one was decided late; but nothing shows that two would be too many
		{2, Pass},
		{3, Fail},
	} {
		pol := reference.Policy{Algorithm: reference.LeakyBucketQueue, Rate: reference.Rate{N: 1, Per: 20}, Queue: c.places, Burst: c.places + 1,
			Start: reference.StartFull, Count: reference.CountAdmitted, Refill: reference.RefillContinuous}
		for _, r := range []Resolution{{BurstExact: true}, {Burst: 0.2}} {
			j, err := Judge(tl, reference.Limit{pol}, Options{Resolution: r})
			if err != nil {
				t.Fatal(err)
			}
			if j.Verdict != c.want {
				t.Errorf("%d places, %+v: got %s (%s), want %s", c.places, r, j.Verdict, j.Detail, c.want)
			}
		}
	}
}
