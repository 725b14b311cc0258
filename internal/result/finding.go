package result

import (
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Findings returns the findings of the judge, in the order of partitions, each with its partition. For a
// scenario that was read without a judgement, it returns those of the claim of conformance. May be empty.
func (s *Scenario) Findings() []Finding {
	var out []Finding
	if s.Judgement != nil {
		for _, p := range s.Judgement.Failed() {
			for _, f := range p.Findings {
				f.Partition = p.Partition
				out = append(out, f)
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	for i := range s.Claims {
		if s.Claims[i].ID == string(ClaimConformance) {
			out = append(out, s.Claims[i].Findings...)
		}
	}
	return out
}

// AttributeFindings returns the findings on attributes, in the order of the claims. ok=false: no attribute
// was compared.
func (s *Scenario) AttributeFindings() (out []Finding, ok bool) {
	for i := range s.Claims {
		if len(s.Claims[i].Compared) > 0 {
			out, ok = append(out, s.Claims[i].Findings...), true
		}
	}
	return out, ok
}

// FirstByte prints when the answer to o began, in seconds, or "never" if none came.
func FirstByte(o *timeline.Observation) string {
	if !o.Answered {
		return "never"
	}
	return text.Seconds(o.FirstByte)
}
