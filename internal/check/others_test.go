package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestLimitersThatOthersUseAreNeverAccused drops the requests of others from recordings of right limiters: a
// fifth up to nearly all. These requests use units up. They also open windows, create buckets before we see
// them, begin bans, and keep alive what would be forgotten. What is measured of a limiter that passes holds
// its true values.
func TestLimitersThatOthersUseAreNeverAccused(t *testing.T) {
	rounds, seeds := soakRounds(t, 500, 2000)
	verdicts := map[result.Verdict]int{}
	for round := range rounds * seeds {
		r := rand.New(rand.NewPCG(soakSeed+17, uint64(round)))
		text := rangedSPEC(r)
		limit, known, lim := limiterOf(r, text)
		if lim == nil {
			continue
		}
		tl := honestTraffic(r, lim, limit)
		if r.IntN(4) == 0 {
			cutAmid(r, tl)
		}
		ours := 1 + r.IntN(10)
		tl.Observations = slices.DeleteFunc(tl.Observations,
			func(timeline.Observation) bool { return r.IntN(12) > ours })
		o := Options{Shared: true, SkipMeasure: r.IntN(4) > 0,
			Conformance: []result.Conformance{"", "", "", result.UpperBound, result.LowerBound}[r.IntN(5)]}
		where := fmt.Sprintf("round %d, %s (%s), %+v", round, text, known, o)
		j := byBounds(tl, limit, o)
		s := streamed(t, tl, limit, o, anyBeginning(r))
		if j.Verdict == result.Fail || s.Verdict == result.Fail {
			t.Errorf("%s: whole %s %+v, streamed %s %+v%s", where, j.Verdict, j.Partitions, s.Verdict,
				s.Partitions, small(tl, limit))
		}
		if verdicts[j.Verdict]++; j.Verdict == result.Pass {
			measuresTheTruth(t, where, j, limit, known)
		}
	}
	t.Logf("%v", verdicts)
	if verdicts[result.Pass] < rounds*seeds/15 {
		t.Errorf("%v: want one in 15 of %d to pass", verdicts, rounds*seeds)
	}
}

// TestOthersPlaceAndCreateToo: a request of others may have opened the window, created the bucket that was
// empty then, or set the times of its batches. Where windows may lie anywhere, at most as much is admitted as
// two of them, and those between, have room for.
func TestOthersPlaceAndCreateToo(t *testing.T) {
	for _, c := range []struct {
		spec    string
		seconds []int
		want    result.Verdict
	}{
		// others opened one at 0 s
		{"fixed-window,rate=2/10s,align=first", []int{9, 10, 10}, result.Inconclusive},
		{"fixed-window,rate=2/10s,align=first", []int{9, 9, 10, 10, 11}, result.Fail},
		// forgotten at 15 s
		{"fixed-window,rate=2/10s,align=first,ttl=5s", []int{9, 9, 10, 10, 16, 16}, result.Inconclusive},
		{"fixed-window,rate=2/10s,align=first + token-bucket,rate=10/s,burst=20", []int{9, 10, 10},
			result.Inconclusive},
		{"fixed-window,rate=2/10s,align=first + token-bucket,rate=10/s,burst=20", []int{9, 9, 10, 10, 11},
			result.Fail},
		{"sliding-window-counter,rate=2/10s,align=first", []int{9, 10, 10}, result.Inconclusive},
		{"sliding-window-counter,rate=2/10s,align=first", []int{9, 9, 10, 10, 11}, result.Fail},
		{"fixed-window,rate=2/10s,align=first,refresh=admitted", []int{9, 10, 10}, result.Fail},
		{"token-bucket,rate=1/10s,burst=5,start=empty", []int{9}, result.Inconclusive},
		{"token-bucket,rate=1/10s,burst=5,start=empty", []int{9, 9, 9, 9, 9, 9}, result.Fail},
		{"token-bucket,rate=1/10s,burst=5,start=empty,ttl=20s", []int{9, 50, 50}, result.Inconclusive},
		{"leaky-bucket-queue,rate=1/10s,queue=3,start=empty", []int{9}, result.Inconclusive},
		// others made it at 1 s
		{"token-bucket,rate=1/10s,burst=2,refill=interval,fill=1", []int{9, 9, 12}, result.Inconclusive},
		{"token-bucket,rate=1/10s,burst=2,refill=interval,fill=1", []int{9, 9, 9, 9}, result.Fail},
	} {
		tl := &timeline.Timeline{}
		for i, second := range c.seconds {
			at := time.Duration(second) * time.Second
			tl.Observations = append(tl.Observations,
				timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at,
					Answered: true, Outcome: timeline.Allowed})
		}
		tl.Header.Ended = tl.End()
		limit, o := mustLimit(t, c.spec), Options{Shared: true}
		j, err := Judge(tl, limit, o)
		if err != nil {
			t.Fatal(err)
		}
		s := streamed(t, tl, limit, o, inTurnCaps)
		if j.Verdict != c.want || s.Verdict != c.want && s.Verdict != result.Pass {
			t.Errorf("%s: %v, as a stream %v, want %v: %+v", c.spec, j.Verdict, s.Verdict, c.want,
				j.Partitions[0])
		}
		if m := j.Partitions[0].Measured; c.want == result.Inconclusive && m.Burst.LoSet {
			t.Errorf("%s: measured %+v", c.spec, m)
		}
	}
}
