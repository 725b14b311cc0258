package check

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestMeasuredPhaseHoldsTheTrueOne: the measured interval of phases holds the true phase of the limiter. It
// is mostly narrower than a window.
func TestMeasuredPhaseHoldsTheTrueOne(t *testing.T) {
	for _, a := range []spec.Algorithm{spec.FixedWindow, spec.SlidingWindowCounter} {
		t.Run(string(a), func(t *testing.T) {
			const size = 100
			r := rand.New(rand.NewPCG(8, 8))
			narrow := 0
			for range fewer(t, 100) {
				phase := time.Duration(r.IntN(size))
				p := spec.Policy{Algorithm: a, Rate: spec.Rate{N: 4, Per: size}, Align: spec.AlignPhase,
					WindowPhase: spec.WindowPhase{PhaseFrom: phase, PhaseTo: phase}}
				lim, err := reference.New(p)
				if err != nil {
					t.Fatal(err)
				}
				tl := honestHistory(r, lim, 80)
				p.Align, p.PhaseFrom, p.PhaseTo = spec.AlignUnknown, 0, 0
				j, err := Judge(tl, spec.Limit{p}, Options{})
				if err != nil || j.Verdict != result.Pass {
					t.Fatalf("got %v %v, want pass", j, err)
				}
				m := j.Measured.Phase
				if !m.LoSet {
					continue
				}
				lo, hi := int64(m.Lo), int64(m.Hi)
				if at := history.Mod(int64(phase)-lo, size); at > hi-lo {
					t.Fatalf("measured %d..%d, which does not hold %d", lo, hi, phase)
				}
				if hi-lo < size/4 {
					narrow++
				}
			}
			if narrow < fewer(t, 100)/2 {
				t.Errorf("measured to a quarter of a window in %d of %d histories, want at least half",
					narrow, fewer(t, 100))
			}
		})
	}
}
