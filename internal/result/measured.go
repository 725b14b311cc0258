package result

import (
	"encoding/json"
	"fmt"
	"math"
)

// Interval is a closed interval of a measured parameter. LoSet=false: no observation bounds it below.
// HiSet=false: none bounds it above.
type Interval struct {
	Lo, Hi       float64
	LoSet, HiSet bool
}

// Measured is the measured policy. For each parameter it has the values that the timeline does not refute,
// with the other parameters at their declared values.
type Measured struct {
	// Burst is in units: the burst of a bucket, the queue+1 of a queue, the quota of a window.
	Burst Interval `json:"burst"`
	// Rate is in units per second. Of a window, its length is measured with the quota held.
	Rate Interval `json:"rate_per_s"`
	// Phase is when windows begin, in nanoseconds since the start of the recording, modulo the window. Set
	// only if the limit has windows whose phase was not known before.
	Phase Interval `json:"phase_ns,omitzero"`
	// Policies has, for a limit of several policies, what was measured of each with the others held. The
	// fields above are then unset. nil: there is one policy, or nothing was measured.
	Policies []Measured `json:"policies,omitempty"`
}

// Of returns what was measured of policy i of a limit with n policies.
func (m Measured) Of(i, n int) Measured {
	switch {
	case n == 1:
		return m
	case i < len(m.Policies):
		return m.Policies[i]
	default:
		return Measured{}
	}
}

// Intersect returns what two partitions, or two recordings under one limit, together measured. It leaves out
// the phases, which may differ.
func (m Measured) Intersect(other Measured) Measured {
	out := Measured{Burst: m.Burst.Intersect(other.Burst), Rate: m.Rate.Intersect(other.Rate)}
	for i := range max(len(m.Policies), len(other.Policies)) {
		out.Policies = append(out.Policies, m.Of(i, 0).Intersect(other.Of(i, 0)))
	}
	return out
}

// Empty tells whether every value is refuted.
func (iv Interval) Empty() bool { return iv.LoSet && iv.HiSet && iv.Lo > iv.Hi }

// String prints the interval as 20..20, 9.97..10.04, 3.. or ..7. It prints "nothing" if neither end is known,
// and "no value" if the interval is empty.
func (iv Interval) String() string {
	switch {
	case iv.Empty():
		return "no value"
	case iv.LoSet && iv.HiSet:
		return fmt.Sprintf("%.6g..%.6g", iv.Lo, iv.Hi)
	case iv.LoSet:
		return fmt.Sprintf("%.6g..", iv.Lo)
	case iv.HiSet:
		return fmt.Sprintf("..%.6g", iv.Hi)
	default:
		return "nothing"
	}
}

// MarshalJSON writes [lo, hi]. An unknown end is null. An interval without ends, [], is empty.
func (iv Interval) MarshalJSON() ([]byte, error) {
	if iv = iv.Finite(); iv.Empty() {
		return []byte("[]"), nil
	}
	var ends [2]*float64
	if iv.LoSet {
		ends[0] = &iv.Lo
	}
	if iv.HiSet {
		ends[1] = &iv.Hi
	}
	return json.Marshal(ends)
}

// UnmarshalJSON reads what MarshalJSON writes. A list of another length is an unknown interval.
func (iv *Interval) UnmarshalJSON(text []byte) error {
	var ends []*float64
	*iv = Interval{}
	err := json.Unmarshal(text, &ends)
	switch {
	case ends != nil && len(ends) == 0:
		*iv = Interval{Lo: 1, Hi: 0, LoSet: true, HiSet: true}
	case len(ends) == 2:
		if ends[0] != nil {
			iv.Lo, iv.LoSet = *ends[0], true
		}
		if ends[1] != nil {
			iv.Hi, iv.HiSet = *ends[1], true
		}
	}
	return err
}

// Finite returns iv with its infinite ends open.
func (iv Interval) Finite() Interval {
	iv.LoSet, iv.HiSet = iv.LoSet && !math.IsInf(iv.Lo, 0), iv.HiSet && !math.IsInf(iv.Hi, 0)
	return iv
}

// Intersect returns what two partitions together measured.
func (iv Interval) Intersect(other Interval) Interval {
	if other.LoSet && (!iv.LoSet || other.Lo > iv.Lo) {
		iv.Lo, iv.LoSet = other.Lo, true
	}
	if other.HiSet && (!iv.HiSet || other.Hi < iv.Hi) {
		iv.Hi, iv.HiSet = other.Hi, true
	}
	return iv
}

// Within tells whether the interval is no wider than a share of the declared value.
func (iv Interval) Within(declared, share float64) bool {
	return iv.LoSet && iv.HiSet && iv.Hi-iv.Lo <= share*declared
}
