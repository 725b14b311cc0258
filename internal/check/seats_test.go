package check

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// allowances makes a recording of admissions, each given by its start, end and cost.
func allowances(of ...[3]int64) *timeline.Timeline {
	tl := &timeline.Timeline{}
	for i, r := range of {
		o := timeline.Observation{Sent: time.Duration(r[0]), FirstByte: time.Duration(r[1]), Answered: true}
		o.Seq, o.Cost, o.Outcome = i, r[2], timeline.Allowed
		tl.Observations = append(tl.Observations, o)
	}
	return tl
}

// TestDividedRequestKeepsItsRest has 14 units in at most two windows of 3. A request divided between two
// windows once counted as placed whole. The requests after it were then not looked at.
func TestDividedRequestKeepsItsRest(t *testing.T) {
	limit := mustLimit(t, "fixed-window,rate=3/60ns,align=first")
	tl := allowances([3]int64{3, 46, 1}, [3]int64{7, 25, 1}, [3]int64{60, 87, 1}, [3]int64{61, 81, 3},
		[3]int64{75, 109, 2}, [3]int64{80, 96, 3}, [3]int64{81, 97, 1}, [3]int64{82, 109, 2})
	o := Options{SkipMeasure: true, Conformance: result.UpperBound}
	if got := byBounds(tl, limit, o).Verdict; got != result.Fail {
		t.Errorf("the whole: got %s, want fail", got)
	}
	if got := streamed(t, tl, limit, o, inTurnCaps).Verdict; got != result.Fail {
		t.Errorf("the stream: got %s, want fail", got)
	}
}

// TestSeatsAreTakenInUnits compares overfull with Hall's condition, tried for every run of windows.
func TestSeatsAreTakenInUnits(t *testing.T) {
	saysReplay(t)
	full := 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(soakSeed, seed))
		seats, lo := make([]limiter.Seat, 1+r.IntN(6)), int64(0)
		evs := make([]history.Event, len(seats))
		for i := range seats {
			lo += int64(r.IntN(2))
			seats[i] = limiter.Seat{Lo: lo, Hi: lo + int64(r.IntN(4)), Cost: 1 + int64(r.IntN(3))}
			evs[i].Cost = seats[i].Cost
		}
		quota := int64(3)
		want := false
		for from := range lo + 1 {
			for to := from; to <= lo+4; to++ {
				units := int64(0)
				for _, s := range seats {
					if s.Lo >= from && s.Hi <= to {
						units += s.Cost
					}
				}
				want = want || units > (to-from+1)*quota
			}
		}
		at := func() func(int) limiter.Seat { return func(i int) limiter.Seat { return seats[i] } }
		if got := limiter.Overfull(evs, at, quota) != nil; got != want {
			t.Fatalf("seed %d: quota %d, %v: got overfull %v, want %v", seed, quota, seats, got, want)
		}
		if want {
			full++
		}
	}
	if full < 1000 || full > 19_000 {
		t.Errorf("%d of 20000 are overfull: too one-sided to tell anything", full)
	}
}
