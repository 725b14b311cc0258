package result

import (
	"reflect"
	"testing"
)

// A doubted judgement has no Fail and no finding left. What passed stays, and so does a judgement without a
// Fail.
func TestDoubtedJudgement(t *testing.T) {
	failed := []Finding{{Kind: OverAdmission}}
	j := &Judgement{Verdict: Fail, Hint: "perhaps", Diagnosis: &Diagnosis{}, Explanations: []Explanation{{}},
		Partitions: []PartitionVerdict{{Partition: "a", Verdict: Fail, Findings: failed}, {Partition: "b"}}}
	j.Doubt(UnclassifiedStatus, "all redirect")
	want := &Judgement{Verdict: Inconclusive, Reason: UnclassifiedStatus, Detail: "all redirect",
		Partitions: []PartitionVerdict{{Partition: "a", Verdict: Inconclusive, Reason: UnclassifiedStatus,
			Detail: "all redirect"}, {Partition: "b"}}}
	if !reflect.DeepEqual(j, want) {
		t.Errorf("got %+v, want %+v", j, want)
	}
	passed := Judgement{Verdict: Pass}
	if passed.Doubt(UnclassifiedStatus, "all redirect"); passed.Verdict != Pass || passed.Reason != "" {
		t.Errorf("a pass: got %+v", passed)
	}
}
