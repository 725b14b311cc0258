package judge

import (
	"github.com/rlcheck/rlcheck/internal/check/phases"
	"github.com/rlcheck/rlcheck/internal/check/search"
)

// The work that the judgement of one recording may take, in all its partitions together. Each gets a share
// of it by its observations: many partitions take no longer than one that is as large as all of them.
const (
	// windowWork is how many they may judge in the search for one end of the lengths of a window. A quarter
	// leaves a right counter that was overloaded tenfold unresolved.
	windowWork = 1 << 24
	// gaugeWork is how many they may judge for one value of what is measured, where a phase is not known.
	gaugeWork = 1 << 21
	// leastShare is the smallest share of any work for an observation.
	leastShare = 64
	// HintSteps is how many decisions the exact searches of one guess may try before the last one begins,
	// HintWide how many those of many phases at once. A guess that is not refuted by then may explain the
	// recording. A search of every phase would go on for minutes, and nothing depends on it.
	HintSteps = 1 << 14
	HintWide  = 1 << 17
)

// share returns what n observations may take of some work on the whole recording.
func (c *Case) share(work, n int) int {
	if n >= c.Observations {
		return work
	}
	return max(int(float64(work)*float64(n)/float64(c.Observations)), leastShare*n)
}

// decisions returns how many decisions the exact searches of n observations may try. One on several
// policies takes several times as long as one on the first, and one on a policy that denials change twice
// as long.
func (c *Case) decisions(n int) int {
	work := phases.StepBudget
	if len(c.Limit) > 1 {
		work /= 2 * len(c.Limit)
	}
	if search.Counted(c.Limit) {
		work /= 2
	}
	if c.work > 0 {
		work = min(work, c.work)
	}
	return c.share(work, n)
}

// bounded returns how many observations the bounds may judge in the search for a phase of n of them.
func (c *Case) bounded(n int) int {
	if c.work > 0 {
		return c.share(min(phases.MaxWork, perObservation*c.work), n)
	}
	return c.share(phases.MaxWork, n)
}
