package check

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAnchoredCountersAmidTraffic cuts recordings out of the traffic of counters whose windows the first
// request places. Nothing is judged before a silence. After it, a stream finds what the bounds find.
func TestAnchoredCountersAmidTraffic(t *testing.T) {
	for _, spec := range []string{"sliding-window-counter,rate=250/300ms,align=first",
		"sliding-window-counter,rate=500/300ms,align=first,count=all",
		"sliding-window-counter,rate=250/300ms,align=first,ban=20ms"} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			limit, o := mustLimit(t, spec), Options{SkipMeasure: true}
			found := 0
			for round := range fewer(t, 3) {
				r := rand.New(rand.NewPCG(soakSeed+14, uint64(round)))
				served := servedLong(t, r, spec, 8000, 1500+r.IntN(1000))
				tl := cutOut(served, 300*time.Millisecond, served[len(served)-1].Sent-200*time.Millisecond,
					4*time.Millisecond)
				if j := streamed(t, tl, limit, o, inTurnCaps); j.Verdict != result.Pass {
					t.Fatalf("round %d: got %s for a right limiter: %+v", round, kindsOf(j), j.Partitions)
				}
				wrong := turned(r, tl, 8)
				if whole := byBounds(wrong, limit, o); whole.Verdict == result.Fail {
					if got := streamed(t, wrong, limit, o, inTurnCaps); got.Verdict != result.Fail {
						t.Errorf("round %d: got %s, the whole is %s", round, kindsOf(got), kindsOf(whole))
					}
					found++
				}
			}
			if found == 0 {
				t.Error("nothing was refuted")
			}
		})
	}
}

// TestCountersThatWereNeverSilentAreNotJudged: amid traffic nobody knows when the first request placed the
// windows.
func TestCountersThatWereNeverSilentAreNotJudged(t *testing.T) {
	spec := "sliding-window-counter,rate=250/300ms,align=first"
	served := servedLong(t, rand.New(rand.NewPCG(soakSeed, 14)), spec, 4000, 5000)
	tl := cutOut(served, 300*time.Millisecond, served[len(served)-1].Sent, 4*time.Millisecond)
	for name, tl := range map[string]*timeline.Timeline{"right": tl,
		"wrong": turned(rand.New(rand.NewPCG(1, 1)), tl, 100)} {
		j := streamed(t, tl, mustLimit(t, spec), Options{}, inTurnCaps)
		if j.Verdict != result.Inconclusive || j.Reason != result.TooFew ||
			j.Partitions[0].Detail != history.AmidTraffic {
			t.Errorf("%s: got %s, %q", name, kindsOf(j), j.Partitions[0].Detail)
		}
	}
}

// turned returns a copy of a timeline with n outcomes turned. They are of one kind and follow each other from
// a random place on.
func turned(r *rand.Rand, tl *timeline.Timeline, n int) *timeline.Timeline {
	out := &timeline.Timeline{Header: tl.Header, Observations: slices.Clone(tl.Observations)}
	from, kind := 1000+r.IntN(len(out.Observations)-2000), timeline.Outcome(1+r.IntN(2))
	for i := from; i < len(out.Observations) && n > 0; i++ {
		o := &out.Observations[i]
		if o.Outcome != kind {
			continue
		}
		if o.Outcome = 3 - kind; o.Outcome == timeline.Allowed {
			o.Done = o.FirstByte + 10*time.Millisecond
		} else {
			o.Done = 0
		}
		n--
	}
	return out
}
