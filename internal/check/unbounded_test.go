package check

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestTimesThatDoNotFitAreNotSearched: a time to live of hours, in units of a rate of millions, overflows all
// products.
func TestTimesThatDoNotFitAreNotSearched(t *testing.T) {
	saysReplay(t)
	for _, spec := range []string{"token-bucket,rate=999983/1s,burst=5,start=empty,ttl=24h",
		"token-bucket,rate=9999991/1s,burst=5,start=empty,ttl=1h",
		"sliding-window-log,rate=2/3ms,ttl=1ms..20000h + token-bucket,rate=1009/1ms,burst=3"} {
		limit := mustLimit(t, spec)
		for round := range 20 {
			r := rand.New(rand.NewPCG(78, uint64(round)))
			lim, err := reference.NewLimit(knownLimit(r, limit))
			if err != nil {
				t.Fatal(err)
			}
			tl := heldTraffic(r, lim, limit, 40, 1500, 200, nil)
			if j, err := Judge(tl, limit, Options{SkipMeasure: true}); err != nil ||
				j.Verdict == result.Fail {
				t.Fatalf("%s, round %d: accused: %v %+v", spec, round, err, j.Partitions)
			}
		}
	}
}

// TestWhatOnePartLeavesOutIsNotMissing: a bucket of a hundred batches has more possible outcomes than are
// listed. The window beside it admits only one that is not in the list.
func TestWhatOnePartLeavesOutIsNotMissing(t *testing.T) {
	bucket, window := "token-bucket,rate=100/1ms,burst=100,refill=interval,fill=1",
		"fixed-window,rate=100/900us,align=first"
	for _, spec := range []string{bucket + " + " + window, window + " + " + bucket} {
		tl := &timeline.Timeline{}
		for i, o := range []timeline.Observation{{Arrival: timeline.Arrival{Cost: 100}},
			{Arrival: timeline.Arrival{Cost: 1}, Sent: 10 * time.Microsecond,
				FirstByte: 950 * time.Microsecond}} {
			o.Seq, o.Answered, o.Outcome = i, true, timeline.Allowed
			tl.Observations = append(tl.Observations, o)
		}
		if j, err := Judge(tl, mustLimit(t, spec), Options{SkipMeasure: true}); err != nil ||
			j.Verdict == result.Fail {
			t.Errorf("%s: accused: %v %+v", spec, err, j.Partitions)
		}
	}
}
