package identify

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// placed returns policy i of a limit with the phase at which it misses the fewest outcomes of a recording.
func placed(tl *timeline.Timeline, limit spec.Limit, i int) spec.Policy {
	const cells, finest, finer = 32, 1 << 14, 4
	limit = slices.Clone(limit)
	best, least, whole := limit[i], len(tl.Observations)+1, limit[i].Rate.Per
	try := func(phase time.Duration) {
		q := limit[i]
		q.Align, q.PhaseFrom = spec.AlignPhase, (phase+whole)%whole
		q.PhaseTo = q.PhaseFrom
		limit[i] = q
		exact := func(at time.Duration) time.Duration { return at }
		if n, _ := replayed(tl, limit, least, exact); n < least {
			least, best = n, q
		}
	}
	for j := range time.Duration(cells) {
		try(whole / cells * j)
	}
	for step := whole / cells / finer; step > whole/finest && least > 0; step /= finer {
		for at, j := best.PhaseFrom, time.Duration(1-finer); j < finer; j++ {
			try(at + step*j)
		}
	}
	return best
}
