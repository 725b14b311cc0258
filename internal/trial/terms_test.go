package trial

import (
	"bytes"
	"testing"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestRecordingsOfOneSideAreJudgedAlikeAgain: alikeAgain is also true of faults that a scenario does not
// forbid. TestRightTargetsPass and TestEveryClaimedFaultFails ask it of all scenarios.
func TestRecordingsOfOneSideAreJudgedAlikeAgain(t *testing.T) {
	sided := 0
	for _, s := range bundled(t, scenario.ParseOptions{}) {
		var faults []string
		if s.Expect.Conformance == scenario.UpperBound { // denies too much, which this side does not forbid
			faults = append(faults, "never-recovers", "burst-one-less")
		}
		if s.ID == "store-outage" {
			faults = append(faults, "outage-queues") // what has no outcome is charged to other partitions
		}
		for _, fault := range faults {
			out := against(t, s, fault)
			if out.Judgement == nil {
				t.Fatalf("%s, fault %q: nothing was judged: %s", s.ID, fault, explain(out))
			}
			alikeAgain(t, s, out)
			sided++
		}
	}
	if sided < 5 {
		t.Errorf("got %d runs, want some", sided)
	}
}

// alikeAgain keeps the recording of a run, and judges the file by what it says alone: the verdict on
// conformance is that of the run.
func alikeAgain(t *testing.T, s *scenario.Scenario, out result.Scenario) {
	t.Helper()
	if s.Expect.Conformance == scenario.NoConformance {
		return
	}
	if out.Judgement == nil {
		t.Fatalf("nothing was judged: %s", explain(out))
	}
	if j := judgedAgain(t, out.Timeline); j.Verdict != out.Judgement.Verdict ||
		j.Reason != out.Judgement.Reason {
		t.Errorf("%s: the recording is judged %s %s (%s), the run was %s %s", s.ID, j.Verdict, j.Reason,
			j.Detail, out.Judgement.Verdict, out.Judgement.Reason)
	}
}

// TestCostsThatAreFreeAreFreeAgain: where no cost was seen to be charged, the recording is not judged by
// costs when it is judged again.
func TestCostsThatAreFreeAreFreeAgain(t *testing.T) {
	for _, s := range bundled(t, scenario.ParseOptions{}, "unit-cost") {
		out := against(t, promising(s), "cost-ignored")
		if j := judgedAgain(t, out.Timeline); out.Verdict == result.Fail || j.Verdict == result.Fail {
			t.Errorf("got %s, and %s when it is judged again, want no fail", out.Verdict, j.Verdict)
		}
	}
}

// judgedAgain keeps a recording, and judges the file by its header.
func judgedAgain(t *testing.T, tl *timeline.Timeline) *result.Judgement {
	t.Helper()
	var file bytes.Buffer
	if err := timeline.Write(&file, tl); err != nil {
		t.Fatal(err)
	}
	r := timeline.NewReader(&file, "kept", timeline.ReadOptions{})
	h, err := r.Header()
	if err != nil {
		t.Fatal(err)
	}
	p, err := check.NewPanel(h.Judged.Limits, h, check.OptionsOf(h.Judged))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Each(func(o *timeline.Observation, _ int) bool { return p.Observe(o) == nil }); err != nil {
		t.Fatal(err)
	}
	j, _, err := p.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return j
}
