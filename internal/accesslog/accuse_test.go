package accesslog

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// traffic is what a limiter decided, by the wall clock, in the order in which requests ended. Arrivals come
// in bursts. Answers take up to longest.
func traffic(t *testing.T, rng *rand.Rand, limit spec.Limit, n int, longest time.Duration) []request {
	t.Helper()
	lim, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]request, n)
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC).Add(time.Duration(rng.Int64N(int64(time.Hour))))
	for i := range all {
		pause := 40 * time.Millisecond
		switch rng.IntN(60) {
		case 0:
			pause = 8 * time.Second
		case 1, 2:
			pause = 500 * time.Millisecond
		}
		at = at.Add(time.Duration(rng.Int64N(int64(pause))))
		took := time.Duration(rng.Int64N(int64(longest)))
		all[i] = request{began: at, decided: at.Add(time.Duration(rng.Int64N(int64(took) + 1))),
			ended: at.Add(took), key: "k"}
	}
	slices.SortFunc(all, func(a, b request) int { return a.decided.Compare(b.decided) })
	state := lim.Init()
	for i := range all {
		var d reference.Decision
		state, d = lim.Step(state, time.Duration(all[i].decided.UnixNano()), 1)
		all[i].status = 429
		if d.Allow {
			all[i].status = 200
		}
	}
	slices.SortFunc(all, func(a, b request) int { return a.ended.Compare(b.ended) })
	return all
}

// TestNoLogAccusesARightLimiter: no log of a right limiter's traffic is judged FAIL, whichever server wrote
// it and wherever it was cut. Most of the logs refute a limit that is far off.
func TestNoLogAccusesARightLimiter(t *testing.T) {
	times := 24
	if testing.Short() {
		times = 6
	}
	specs := [][2]string{
		{"token-bucket,rate=10/s,burst=20", "token-bucket,rate=2/s,burst=4"},
		{"sliding-window-log,rate=20/2s", "sliding-window-log,rate=4/2s"},
		{"fixed-window,rate=20/2s", "fixed-window,rate=4/2s"},
		{"fixed-window,rate=20/2s,align=first", "fixed-window,rate=4/2s,align=first"},
		{"sliding-window-counter,rate=20/2s", "sliding-window-counter,rate=4/2s"},
		{"token-bucket,rate=10/s,burst=20,count=all", "token-bucket,rate=1/s,burst=2,count=all"},
	}
	for name, w := range writers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refuted, judged := 0, 0
			for i := range times {
				rng := rand.New(rand.NewPCG(uint64(i), 99))
				spec := specs[i%len(specs)]
				limit := mustParse(t, spec[0])
				longest := []time.Duration{2 * time.Millisecond, 200 * time.Millisecond,
					2900 * time.Millisecond}[i/len(specs)%3]
				all := traffic(t, rng, limit, 600, longest)
				cut := all[rng.IntN(200) : 400+rng.IntN(200)]
				var text strings.Builder
				for _, r := range cut {
					text.WriteString(w.write(r, rng) + "\n")
				}
				l, err := Read(strings.NewReader(text.String()), "x", w.o)
				if err != nil {
					t.Fatal(err)
				}
				// A log leaves its last minute open, which would be all of this short one.
				l.Header.CompleteUntil = l.Timeline().End() - 3*time.Second - time.Duration(usualLag)
				l.Header.Tick = time.Millisecond
				if l.Lossy {
					l.Header.CompleteFrom = l.Timeline().End() // no denial is judged
				}
				if j := mustJudge(t, l, limit); j.Verdict == result.Fail {
					t.Fatalf("%s, seed %d, answers up to %s: accused: %s", spec[0], i, longest,
						j.Partitions[0].Findings[0].Text)
				}
				judged++
				if mustJudge(t, l, mustParse(t, spec[1])).Verdict == result.Fail {
					refuted++
				}
			}
			t.Logf("%d of %d refuted", refuted, judged)
			if refuted*3 < judged*2 {
				t.Errorf("got %d of %d wrong limits refuted, want two thirds", refuted, judged)
			}
		})
	}
}

func mustParse(t *testing.T, text string) spec.Limit {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return limit
}

func mustJudge(t *testing.T, l *Log, limit spec.Limit) *result.Judgement {
	t.Helper()
	j, err := check.Judge(l.Timeline(), limit, check.Options{SkipMeasure: true})
	if err != nil {
		t.Fatal(err)
	}
	return j
}
