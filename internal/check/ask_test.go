package check

import (
	"math/rand/v2"
	"testing"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAnswersAloneAreThoseOfTheWitnesses asks one asker about random histories, under every small policy and
// over boxes of phases. It must give the same answers as the bounds that name a witness.
func TestAnswersAloneAreThoseOfTheWitnesses(t *testing.T) {
	for name, p := range smallPolicies() {
		lim, err := reference.NewLimit(spec.Limit{p})
		if p.Align == spec.AlignUnknown || p.PhaseTo > p.PhaseFrom || err != nil {
			continue // a range is no single limiter
		}
		a, refuted := &limiter.Scratch{}, map[bool]int{}
		for round := range fewer(t, 400) {
			r := rand.New(rand.NewPCG(soakSeed+59, uint64(round)))
			costs := p.Full() > 1 && r.IntN(2) == 0
			sh := shape{requests: 4 + r.IntN(30), gap: 1 + r.IntN(30), late: r.IntN(40), costs: costs}
			tl := randomHistory(r, lim, sh)
			h := newHistory(tl.Observations, history.Widen(timeline.Header{}, p.Tick, p.TickSet),
				int64(tl.End()), history.StayOf(p))
			b := limiter.NewBound(p, int64(p.PhaseFrom), int64(p.PhaseFrom)+r.Int64N(4))
			for _, mode := range []result.Conformance{result.UpperBound, result.LowerBound} {
				got, want := a.Refutes(h, b, mode), JudgeOne(h, b, mode) != nil
				if refuted[want]++; got != want {
					t.Fatalf("%s, round %d, %s: got refuted %v, want %v\n%s", name, round, mode, got, want,
						draw(tl))
				}
			}
		}
		if refuted[true] == 0 || refuted[false] == 0 {
			t.Errorf("%s: %v: one side was not tried", name, refuted)
		}
	}
}
