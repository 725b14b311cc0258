package claim

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TooFew returns a claim that lacks observations: Inconclusive (too-few).
func TooFew(id, text string) result.Claim {
	return result.Claim{ID: id, Verdict: result.Inconclusive, Reason: result.TooFew, Text: text}
}

// Unpromised returns a claim on something that none of n answers has, and nobody promised: Inconclusive
// (needs-failed). It does not count. noun names an answer, what the thing that they lack.
func Unpromised(id string, p result.Promise, n int, noun, what string) result.Claim {
	return result.Claim{ID: id, Reason: result.NeedsFailed, Unpromised: p,
		Text: fmt.Sprintf("none of %s has %s, and the target does not promise it",
			text.Plural(n, noun), what)}
}

// MostFindings is the most observations that a finding names. If a claim has a finding for each observation,
// it is also the most findings. Texts say how many there are in all.
const MostFindings = 10

// Witness returns f with the first Most of obs, their span and, if they share one, their partition.
func Witness(f result.Finding, obs ...*timeline.Observation) result.Finding {
	obs = obs[:min(len(obs), MostFindings)]
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
func Count(kind result.Kind, obs []*timeline.Observation, text string) result.Finding {
	return Witness(result.Finding{Kind: kind, Seen: int64(len(obs)), Text: text}, obs...)
}

// Shown says, at the end of a text, how many of n findings are listed. Empty: all are.
func Shown(n int) string {
	if n <= MostFindings {
		return ""
	}
	return fmt.Sprintf("; the first %d are shown", MostFindings)
}
