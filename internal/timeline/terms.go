package timeline

import (
	"fmt"
	"slices"
	"time"
)

// Terms are the terms by which a recording was judged when it was made, so that it can be judged alike again.
// The zero value: nothing is known of that.
type Terms struct {
	// Limits are the limits, each of which judges a part. Empty: none is known.
	Limits []PhaseLimit `json:"limits"`
	// Conformance is the side of the limits that is judged: exact, upper-bound or lower-bound. Empty: exact.
	Conformance string `json:"conformance,omitempty"`
	// Shared: others may use the same partitions.
	Shared bool `json:"shared,omitempty"`
	// BurstExact demands that a PASS measures the burst exactly. Burst and Rate demand that it measures burst
	// and rate to within such a share; 0 demands nothing.
	BurstExact bool    `json:"burst_exact,omitempty"`
	Burst      float64 `json:"burst_resolution,omitempty"`
	Rate       float64 `json:"rate_resolution,omitempty"`
	// SingleUnits: each request counts one unit, whatever cost was sent, since the target charges none.
	SingleUnits bool `json:"single_units,omitempty"`
	// Breaks are what may have made the target forget its clients, in the order of time. nil: nothing.
	Breaks []Break `json:"breaks,omitempty"`
	// Against are wrong ways to count costs, by name. A PASS must tell the target from each of them.
	Against []string `json:"against,omitempty"`
}

// Break is something that may have made the target forget its clients: an event, such as a restart, or many
// other clients that came. A client that asked before From and not again until To came back after it.
type Break struct {
	// Phase is that of the event, or of the others.
	Phase string        `json:"phase"`
	From  time.Duration `json:"from_ns"`
	To    time.Duration `json:"to_ns"`
	// Others is how many other clients came, 0 for an event, and Answered how many of them got an answer.
	Others   int `json:"others,omitempty"`
	Answered int `json:"answered,omitempty"`
}

// PhaseLimit is a limit as a SPEC, and the phases whose requests it counts. No phases means all requests.
type PhaseLimit struct {
	Limit  string   `json:"limit"`
	Phases []string `json:"phases,omitempty"`
	// Undecided is for partitions with requests that have no outcome. It names the other partitions of the
	// client to which these requests may be charged, whatever their phase. nil: there are none.
	Undecided map[string][]string `json:"undecided,omitempty"`
}

// Counts tells whether the limit counts the requests of a phase.
func (l PhaseLimit) Counts(phase string) bool {
	return len(l.Phases) == 0 || slices.Contains(l.Phases, phase)
}

// IsZero tells whether nothing is known.
func (t Terms) IsZero() bool { return len(t.Limits) == 0 }

// flaw says what is wrong with the values and which rule they break. Empty: nothing is. It does not parse a
// SPEC.
func (t *Terms) flaw() (what, why string) {
	for _, share := range []float64{t.Burst, t.Rate} {
		if !(share >= 0 && share <= 1) {
			return fmt.Sprintf("judged: resolution %g", share), "a share is 0 to 1"
		}
	}
	if !slices.Contains([]string{"", "exact", "upper-bound", "lower-bound"}, t.Conformance) {
		return "judged: conformance " + excerpt(t.Conformance), "the values are exact, upper-bound and " +
			"lower-bound"
	}
	return "", ""
}
