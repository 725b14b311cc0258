package timeline

import "slices"

// Terms are what a recording was judged by when it was made, so that it is judged alike again. The zero value
// means that nothing is known of that.
type Terms struct {
	// Limits are the limits that judge a part each; empty: none is known.
	Limits []PhaseLimit
	// Conformance is the side of the limits that is judged: exact, upper-bound or lower-bound; empty: exact.
	Conformance string
	// Shared tells that others may use the same partitions.
	Shared bool
	// BurstExact demands that a pass measures the burst exactly, Burst and Rate that it measures burst and
	// rate to within such a share; 0 demands nothing.
	BurstExact  bool
	Burst, Rate float64
	// SingleUnits tells that each request counts one unit, whatever cost was sent: none was charged.
	SingleUnits bool
}

// PhaseLimit is a limit as a SPEC and the phases whose requests it counts; no phases means all requests.
type PhaseLimit struct {
	Limit  string
	Phases []string
	// Undecided names, for a partition with requests that have no outcome, the other partitions of its client
	// that they may be charged to, in whatever phase they were sent; nil for none.
	Undecided map[string][]string
}

// Counts tells whether the limit counts the requests of a phase.
func (l PhaseLimit) Counts(phase string) bool {
	return len(l.Phases) == 0 || slices.Contains(l.Phases, phase)
}
