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
		if n := missed(tl, limit, least); n < least {
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

// missed counts the outcomes of a recording that a limit would not have produced, not even a moment earlier
// or later; at most most+1.
func missed(tl *timeline.Timeline, l spec.Limit, most int) int {
	m := modelOf(&Kind{Base: l[0]}, l)
	if m == nil {
		return most + 1
	}
	m.learn(tl, time.Millisecond, most)
	return m.Missed
}
