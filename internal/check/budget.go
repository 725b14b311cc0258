package check

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
	// hintSteps is how many decisions the exact searches of one guess may try before the last one begins,
	// hintWide how many those of many phases at once. A guess that is not refuted by then may explain the
	// recording. A search of every phase would go on for minutes, and nothing depends on it.
	hintSteps = 1 << 14
	hintWide  = 1 << 17
)

// share returns what n observations may take of some work on the whole recording.
func (c *caseFile) share(work, n int) int {
	if n >= c.observations {
		return work
	}
	return max(int(float64(work)*float64(n)/float64(c.observations)), leastShare*n)
}

// decisions returns how many decisions the exact searches of n observations may try. One on several
// policies takes several times as long as one on the first, and one on a policy that denials change twice
// as long.
func (c *caseFile) decisions(n int) int {
	work := stepBudget
	if len(c.limit) > 1 {
		work /= 2 * len(c.limit)
	}
	if counted(c.limit) {
		work /= 2
	}
	return c.share(work, n)
}
