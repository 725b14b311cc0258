package check

import (
	"slices"
	"strings"
)

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
