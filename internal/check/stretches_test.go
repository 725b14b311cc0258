package check

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/pieces"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestAnchoredCountersAmidTraffic cuts recordings out of the traffic of counters whose windows the first
// request places. Nothing is judged before a silence. After it, the pieces find what the bounds find on the
// whole.
func TestAnchoredCountersAmidTraffic(t *testing.T) {
	for _, spec := range []string{"sliding-window-counter,rate=250/300ms,align=first",
		"sliding-window-counter,rate=500/300ms,align=first,count=all",
		"sliding-window-counter,rate=250/300ms,align=first,ban=20ms"} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			limit, o, caps := mustLimit(t, spec), Options{SkipMeasure: true}, pieces.Caps{Piece: 1 << 10}
			found := 0
			for round := range fewer(t, 3) {
				r := rand.New(rand.NewPCG(soakSeed+14, uint64(round)))
				served := servedLong(t, r, spec, 8000, 1500+r.IntN(1000))
				tl := cutOut(served, 300*time.Millisecond, served[len(served)-1].Sent-200*time.Millisecond,
					4*time.Millisecond)
				if j := streamed(t, tl, limit, o, caps); j.Verdict != verdict.Pass {
					t.Fatalf("round %d: got %s for a right limiter: %+v", round, kindsOf(j), j.Partitions)
				}
				wrong := turned(r, tl, 8)
				if whole := byBounds(wrong, limit, o); whole.Verdict == verdict.Fail {
					if got := streamed(t, wrong, limit, o, caps); got.Verdict != verdict.Fail {
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
	caps := pieces.Caps{Piece: 1 << 10}
	for name, tl := range map[string]*timeline.Timeline{"right": tl,
		"wrong": turned(rand.New(rand.NewPCG(1, 1)), tl, 100)} {
		j := streamed(t, tl, mustLimit(t, spec), Options{}, caps)
		if j.Verdict != verdict.Inconclusive || j.Reason != verdict.TooFew ||
			j.Partitions[0].Detail != history.AmidTraffic {
			t.Errorf("%s: got %s, %q", name, kindsOf(j), j.Partitions[0].Detail)
		}
	}
}
