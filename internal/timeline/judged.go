package timeline

import (
	"fmt"
	"slices"
)

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

// newTermsJSON returns the form of t. nil: nothing is known.
func newTermsJSON(t *Terms) *termsJSON {
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

// flaw says what is wrong with the values and which rule they break. Empty: nothing is. It does not parse a
// SPEC.
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
		return "judged: conformance " + excerpt(j.Conformance), "the values are exact, upper-bound and " +
			"lower-bound"
	}
	return "", ""
}
