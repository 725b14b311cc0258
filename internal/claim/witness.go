package claim

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// witnessMax is the most observations that a finding names, and the most findings of a claim that has one for
// each observation. Texts say how many there are in all.
const witnessMax = 10

// witness fills the observations, the span and, if they share one, the partition of f from obs, of which it
// keeps the first witnessMax.
func witness(f verdict.Finding, obs ...*timeline.Observation) verdict.Finding {
	obs = obs[:min(len(obs), witnessMax)]
	for i, o := range obs {
		if i == 0 {
			f.Partition, f.From, f.To = o.Partition, o.Sent, max(o.Sent, o.FirstByte)
		}
		if o.Partition != f.Partition {
			f.Partition = ""
		}
		f.From, f.To = min(f.From, o.Sent), max(f.To, o.FirstByte)
		f.Observations = append(f.Observations, o.Seq)
	}
	slices.Sort(f.Observations)
	return f
}

// add returns a + b, or the largest duration where that overflows. Neither may be negative.
func add(a, b time.Duration) time.Duration {
	if a > reference.Never-b {
		return reference.Never
	}
	return a + b
}
