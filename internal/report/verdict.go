package report

import (
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
)

// Tally is what several runs of one scenario found.
type Tally struct {
	// Verdict is Fail if any run failed. A FAIL is proved, and runs that saw less do not refute it. Otherwise
	// it is Pass if any run passed.
	Verdict result.Verdict `json:"verdict"`
	// Reason is the reason of the first open run. It is set only if Verdict is Inconclusive.
	Reason result.Reason `json:"reason"`
	// Runs = Passed + Failed + Open.
	Runs   int `json:"-"`
	Passed int `json:"passed"`
	Failed int `json:"failed"`
	Open   int `json:"inconclusive"`
	// Uncounted tells that every run lacked something that its target never had (needs-failed).
	Uncounted bool `json:"-"`
}

func compareTally(runs []*result.Scenario) (t Tally) {
	t.Uncounted = true
	for _, s := range runs {
		t.Runs++
		t.Uncounted = t.Uncounted && s.Uncounted()
		switch s.Verdict {
		case result.Pass:
			t.Passed++
		case result.Fail:
			t.Failed++
		default:
			if t.Open++; t.Open == 1 {
				t.Reason = s.Reason
			}
		}
	}
	switch {
	case t.Failed > 0:
		t.Verdict = result.Fail
	case t.Passed > 0:
		t.Verdict = result.Pass
	}
	if t.Verdict != result.Inconclusive {
		t.Reason = ""
	}
	return t
}

// String returns PASS, FAIL (2 of 5 runs) or INCONCLUSIVE (too-few).
func (t Tally) String() string {
	text := strings.ToUpper(t.Verdict.String())
	if n := map[result.Verdict]int{result.Pass: t.Passed, result.Fail: t.Failed}[t.Verdict]; n > 0 &&
		n < t.Runs {
		return fmt.Sprintf("%s (%d of %d runs)", text, n, t.Runs)
	}
	if t.Reason != "" {
		text += " (" + string(t.Reason) + ")"
	}
	return text
}

// Change is how a verdict changed.
type Change string

// The changes.
const (
	Same   Change = "same"
	Worse  Change = "worse"
	Better Change = "better"
)

// changeOf compares two tallies. If a side was not judged because its target never had something, that is
// neither better nor worse.
func changeOf(old, new Tally) Change {
	rank := map[result.Verdict]int{result.Pass: 0, result.Inconclusive: 1, result.Fail: 2}
	switch {
	case old.Verdict == new.Verdict:
		return Same
	case new.Uncounted && old.Verdict != result.Fail, old.Uncounted && new.Verdict != result.Fail:
		return Same
	case rank[new.Verdict] > rank[old.Verdict]:
		return Worse
	default:
		return Better
	}
}
