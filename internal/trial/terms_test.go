package trial

import (
	"bytes"
	"testing"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestRecordingsAreJudgedAlikeAgain keeps the recording of every bundled scenario, against the right target
// and the first fault that it catches, and judges the file by what it says alone: the verdict on conformance
// is that of the run.
func TestRecordingsAreJudgedAlikeAgain(t *testing.T) {
	verdicts, sided := map[check.Verdict]int{}, 0
	for _, s := range bundled(t, scenario.ParseOptions{}) {
		faults := append([]string{""}, s.Catches[:min(len(s.Catches), 1)]...)
		switch s.Expect.Conformance {
		case scenario.NoConformance:
			continue
		case scenario.UpperBound: // denies too much, which this side does not forbid
			faults = append(faults, "never-recovers", "burst-one-less")
		}
		for _, fault := range faults {
			out := against(t, s, fault)
			if out.Judgement == nil {
				t.Fatalf("%s, fault %q: nothing was judged: %s", s.ID, fault, explain(out))
			}
			var file bytes.Buffer
			if err := timeline.Write(&file, out.Timeline); err != nil {
				t.Fatal(err)
			}
			j := judgedAgain(t, &file)
			if out.Timeline.Header.Judged.Shared && !s.Shared() && j.Verdict != check.Fail {
				continue // undecided requests of other partitions: a recording knows no clients
			}
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
	if verdicts[check.Pass] == 0 || verdicts[check.Fail] == 0 || sided == 0 {
		t.Errorf("%v, of one side %d: want some of each", verdicts, sided)
	}
}

// judgedAgain judges a kept recording by its header.
func judgedAgain(t *testing.T, file *bytes.Buffer) *check.Judgement {
	t.Helper()
	r := timeline.NewReader(file, "kept", timeline.Options{})
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
