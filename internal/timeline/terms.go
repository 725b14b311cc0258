package timeline

import "slices"

// Terms are the terms by which a recording was judged when it was made, so that it can be judged alike again.
// The zero value: nothing is known of that.
type Terms struct {
	// Limits are the limits, each of which judges a part. Empty: none is known.
	Limits []PhaseLimit
	// Conformance is the side of the limits that is judged: exact, upper-bound or lower-bound. Empty: exact.
	Conformance string
	// Shared: others may use the same partitions.
	Shared bool
	// BurstExact demands that a PASS measures the burst exactly. Burst and Rate demand that it measures burst
	// and rate to within such a share; 0 demands nothing.
	BurstExact  bool
	Burst, Rate float64
	// SingleUnits: each request counts one unit, whatever cost was sent, since the target charges none.
	SingleUnits bool
}

// PhaseLimit is a limit as a SPEC, and the phases whose requests it counts. No phases means all requests.
type PhaseLimit struct {
	Limit  string
	Phases []string
	// Undecided is for partitions with requests that have no outcome. It names the other partitions of the
	// client to which these requests may be charged, whatever their phase. nil: there are none.
	Undecided map[string][]string
}

// Counts tells whether the limit counts the requests of a phase.
func (l PhaseLimit) Counts(phase string) bool {
	return len(l.Phases) == 0 || slices.Contains(l.Phases, phase)
}
