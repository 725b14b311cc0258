package check

import (
	"github.com/rlcheck/rlcheck/internal/check/search"
)

// The work of judging one recording, of all its partitions together. Each partition has a share by its number
// of observations. So many partitions take no longer than one that is as large as all of them.
const (
	// windowWork is how many observations the bounds may judge to find one end of the lengths of a window.
	// With a quarter of it, a right counter that was overloaded tenfold stays unresolved.
	windowWork = 1 << 24
	// brokenWindowWork is windowWork of a partition that fails. Its lengths only suggest another limit.
	brokenWindowWork = windowWork >> 5
	// gaugeWork is how many observations the bounds may judge for one value of a measured parameter, if the
	// phase is not known.
	gaugeWork = 1 << 21
	// leastShare is the least share of an observation of any work.
	leastShare = 64
	// HintSteps is how many decisions the exact searches of one guess may try before the last search begins.
	// HintWide is the same for searches of many phases at once. A guess that is not refuted by then may
	// explain the recording. Searching every phase would take minutes, and nothing depends on it.
	HintSteps = 1 << 14
	HintWide  = 1 << 17
)

// share returns the part of work, meant for the whole recording, that n observations may take.
func (c *Case) share(work, n int) int {
	if n >= c.Observations {
		return work
	}
	return max(int(float64(work)*float64(n)/float64(c.Observations)), leastShare*n)
}

// decisions returns how many decisions the exact searches of n observations may try. A decision under several
// policies takes several times as long as one under the first. A decision under a policy that denials change
// takes twice as long.
func (c *Case) decisions(n int) int {
	work := StepBudget
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

// bounded returns how many observations the bounds may judge in the search for the phase of n observations.
func (c *Case) bounded(n int) int {
	if c.work > 0 {
		return c.share(min(MaxWork, perObservation*c.work), n)
	}
	return c.share(MaxWork, n)
}
