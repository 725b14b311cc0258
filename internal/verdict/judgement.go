package verdict

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"slices"
	"strings"
)

// PartitionVerdict is the verdict on one partition.
type PartitionVerdict struct {
	Partition string
	Verdict   Verdict
	Reason    Reason
	// Detail says in a sentence what an Inconclusive reason means here; may be empty.
	Detail string
	// Findings has at least one element if Verdict is Fail, and none otherwise.
	Findings []Finding
	Measured Measured
	// Judged is the number of observations with a known outcome.
	Judged int
	// Search is what the exact search did for this partition; the zero value: nothing was searched.
	Search Search
}

// Search is what an exact search did: the decisions it tried (where a limiter remembers more than three
// times, each counts as several), the most it tries of all for one phase of the windows, beside those that it
// spends on looking for an explanation along few branches, and whether it reached that and proved nothing
// there.
type Search struct {
	Visited, Cap int
	Capped       bool
}

// Judgement is the verdict on a timeline.
type Judgement struct {
	Verdict Verdict
	Reason  Reason
	Detail  string
	// Partitions ascend by name.
	Partitions []PartitionVerdict
	// Measured is what all partitions together measured: the intersection of their intervals.
	Measured Measured
	// Hint names, for a Fail, what explains all of the recording, or says that nothing does that was
	// tried; empty where nothing was looked for.
	Hint string
	// Explanations are the limits that Hint speaks of, the nearest first: one of each kind. Nil where none
	// was found.
	Explanations []Explanation
	// Diagnosis is, for a Fail, what a reader needs to know before any finding; nil where nothing was
	// found or looked for.
	Diagnosis *Diagnosis
	// Unresolved tells that each partition keeps the limit, and that nothing is missing of a pass but that
	// less was measured than it must. The other recordings of a run may show the rest.
	Unresolved bool
}

// Explanation is a limit that explains a whole recording: all partitions, judged on the side that was
// asked for.
type Explanation struct {
	// Text names it in a few words.
	Text  string
	Limit spec.Limit
	// Sure tells that the recording passes. Without it no proof against the limit was found, and not every
	// order of requests was tried.
	Sure bool
}

// Diagnosis is what a recording that fails shows as a whole. Its reader needs it before any finding: it
// names a cause that makes the findings right, and beside the point.
type Diagnosis struct {
	Kind DiagnosisKind
	// Text says in one sentence what seems to be the case, and what to try.
	Text string
	// Why says in one sentence which judgements of the recording led to Text.
	Why string
}

// DiagnosisKind names what a diagnosis found.
type DiagnosisKind string

// SharedQuota: clients that are told apart have one quota together.
const SharedQuota DiagnosisKind = "shared-quota"

// Merge is the judgement on a recording of which each of several limits judged a part, in the order of the
// limits. What was measured is left out where there is more than one: each limit has its own.
func Merge(js []*Judgement) *Judgement {
	all := &Judgement{Verdict: Pass}
	if len(js) == 1 {
		all.Measured = js[0].Measured
	}
	for _, j := range js {
		if all.Verdict = Worst(all.Verdict, j.Verdict); j.Verdict == Inconclusive && all.Reason == "" {
			all.Reason, all.Detail = j.Reason, j.Detail
		}
		if all.Hint == "" {
			all.Hint, all.Explanations = j.Hint, j.Explanations
		}
		if all.Diagnosis == nil {
			all.Diagnosis = j.Diagnosis
		}
		all.Partitions = append(all.Partitions, j.Partitions...)
	}
	slices.SortStableFunc(all.Partitions, func(a, b PartitionVerdict) int {
		return strings.Compare(a.Partition, b.Partition)
	})
	if all.Verdict != Inconclusive {
		all.Reason, all.Detail = "", ""
	}
	return all
}

// Own notes in the findings of j the limit that judged them, where others of the recording have another limit
// or none.
func (j *Judgement) Own(limit string) {
	for i := range j.Partitions {
		for k := range j.Partitions[i].Findings {
			j.Partitions[i].Findings[k].Limit = limit
		}
	}
}
