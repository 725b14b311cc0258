package trial

import (
	"bytes"
	"testing"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/ndjson"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/scenario/grammar"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestRecordingsAreJudgedAlikeAgain keeps the recording of every bundled scenario, against the right target
// and the first fault that it catches, and judges the file by what it says alone: the verdict on conformance
// is that of the run.
func TestRecordingsAreJudgedAlikeAgain(t *testing.T) {
	verdicts, sided := map[verdict.Verdict]int{}, 0
	for i, s := range bundled(t, grammar.Options{}) {
		if testing.Short() && i%4 != 0 && s.Expect.Conformance != scenario.UpperBound {
			continue
		}
		faults := append([]string{""}, s.Catches[:min(len(s.Catches), 1)]...)
		switch s.Expect.Conformance {
		case scenario.NoConformance:
			continue
		case scenario.UpperBound: // denies too much, which this side does not forbid
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
			j := judgedAgain(t, out.Timeline)
			if verdicts[j.Verdict]++; j.Verdict != out.Judgement.Verdict || j.Reason != out.Judgement.Reason {
				t.Errorf("%s, fault %q: the recording is judged %s %s (%s), the run was %s %s", s.ID, fault,
					j.Verdict, j.Reason, j.Detail, out.Judgement.Verdict, out.Judgement.Reason)
			}
			if s.Expect.Conformance != scenario.Exact {
				sided++
			}
		}
	}
	t.Logf("%v, of one side %d", verdicts, sided)
	if verdicts[verdict.Pass] == 0 || verdicts[verdict.Fail] == 0 || sided == 0 {
		t.Errorf("%v, of one side %d: want some of each", verdicts, sided)
	}
}

// TestCostsThatAreFreeAreFreeAgain: where no cost was seen to be charged, the recording is not judged by
// costs when it is judged again.
func TestCostsThatAreFreeAreFreeAgain(t *testing.T) {
	for _, s := range bundled(t, grammar.Options{}, "unit-cost") {
		out := against(t, promising(s), "cost-ignored")
		if j := judgedAgain(t, out.Timeline); out.Verdict == verdict.Fail || j.Verdict == verdict.Fail {
			t.Errorf("got %s, and %s when it is judged again, want no fail", out.Verdict, j.Verdict)
		}
	}
}

// judgedAgain keeps a recording, and judges the file by its header.
func judgedAgain(t *testing.T, tl *timeline.Timeline) *verdict.Judgement {
	t.Helper()
	var file bytes.Buffer
	if err := ndjson.Write(&file, tl); err != nil {
		t.Fatal(err)
	}
	r := ndjson.NewReader(&file, "kept", ndjson.Options{})
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
	j, err := p.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return j
}
