package check

import (
	"math/rand/v2"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestSearchIsReproducible: a search tries the same decisions in every run.
func TestSearchIsReproducible(t *testing.T) {
	for _, spec := range benchSpecs {
		p := mustPolicy(t, spec)
		obs := offered(p, 150, 3)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range obs {
			if r.IntN(8) == 0 {
				obs[i].Outcome = timeline.Unknown
			}
		}
		h := newHistory(obs, widening{}, int64((&timeline.Timeline{Observations: obs}).End()))
		first := 0
		for run := range 3 {
			x := newExact(h, p, int64(p.PhaseFrom))
			if x == nil {
				break
			}
			x.search()
			if run == 0 {
				first = x.visited
			}
			if x.visited != first || first < len(obs) {
				t.Errorf("%s: run %d tried %d decisions, the first run %d", spec, run, x.visited, first)
			}
		}
	}
}
