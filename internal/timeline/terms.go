package timeline

import (
	"fmt"
	"slices"
)

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

// termsJSON is the form of Terms in the header line.
type termsJSON struct {
	Limits      []phaseLimitJSON `json:"limits"`
	Conformance string           `json:"conformance,omitempty"`
	Shared      bool             `json:"shared,omitempty"`
	BurstExact  bool             `json:"burst_exact,omitempty"`
	Burst       float64          `json:"burst_resolution,omitempty"`
	Rate        float64          `json:"rate_resolution,omitempty"`
	SingleUnits bool             `json:"single_units,omitempty"`
}

type phaseLimitJSON struct {
	Limit     string              `json:"limit"`
	Phases    []string            `json:"phases,omitempty"`
	Undecided map[string][]string `json:"undecided,omitempty"`
}

// json returns the form of t, nil where nothing is known.
func (t *Terms) json() *termsJSON {
	if len(t.Limits) == 0 {
		return nil
	}
	j := &termsJSON{Conformance: t.Conformance, Shared: t.Shared,
		BurstExact: t.BurstExact, Burst: t.Burst, Rate: t.Rate, SingleUnits: t.SingleUnits}
	for _, l := range t.Limits {
		j.Limits = append(j.Limits, phaseLimitJSON(l))
	}
	return j
}

// terms returns the Terms of a form without a flaw.
func (j *termsJSON) terms() Terms {
	if j == nil {
		return Terms{}
	}
	t := Terms{Conformance: j.Conformance, Shared: j.Shared,
		BurstExact: j.BurstExact, Burst: j.Burst, Rate: j.Rate, SingleUnits: j.SingleUnits}
	for _, l := range j.Limits {
		t.Limits = append(t.Limits, PhaseLimit(l))
	}
	return t
}

// flaw says what is wrong with the values and which rule they break; empty if nothing is. What a SPEC says is
// not read here.
func (j *termsJSON) flaw() (what, why string) {
	if j == nil {
		return "", ""
	}
	for _, share := range []float64{j.Burst, j.Rate} {
		if !(share >= 0 && share <= 1) {
			return fmt.Sprintf("judged: resolution %g", share), "a share is 0 to 1"
		}
	}
	if !slices.Contains([]string{"", "exact", "upper-bound", "lower-bound"}, j.Conformance) {
		return "judged: conformance " + excerpt(j.Conformance), "it is exact, upper-bound or lower-bound"
	}
	return "", ""
}
