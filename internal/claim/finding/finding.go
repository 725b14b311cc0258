// Package finding builds verdicts: claims, findings, and the witnesses that prove them.
package finding

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TooFew returns a claim that lacks observations: Inconclusive (too-few).
func TooFew(id, text string) verdict.Claim {
	return verdict.Claim{ID: id, Verdict: verdict.Inconclusive, Reason: verdict.TooFew, Text: text}
}

// Unpromised returns a claim on something that none of n answers has, and nobody promised: Inconclusive
// (needs-failed). It does not count. noun names an answer, what the thing that they lack.
func Unpromised(id string, p verdict.Promise, n int, noun, what string) verdict.Claim {
	return verdict.Claim{ID: id, Reason: verdict.NeedsFailed, Unpromised: p,
		Text: fmt.Sprintf("none of %s has %s, and the target does not promise it",
			quantity.Plural(n, noun), what)}
}

// Most is the most observations that a finding names. If a claim has a finding for each observation, it is
// also the most findings. Texts say how many there are in all.
const Most = 10

// Witness returns f with the first Most of obs, their span and, if they share one, their partition.
func Witness(f verdict.Finding, obs ...*timeline.Observation) verdict.Finding {
	obs = obs[:min(len(obs), Most)]
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

// Count returns a finding of obs, which is not empty. Seen is their number.
func Count(kind verdict.Kind, obs []*timeline.Observation, text string) verdict.Finding {
	return Witness(verdict.Finding{Kind: kind, Seen: int64(len(obs)), Text: text}, obs...)
}

// Shown says, at the end of a text, how many of n findings are listed. Empty: all are.
func Shown(n int) string {
	if n <= Most {
		return ""
	}
	return fmt.Sprintf("; the first %d are shown", Most)
}
