package lab

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
)

// TestWhatALimitShows: a fault is caught if one scenario finds it, missed if one that could show it passed,
// and else not shown, with the reason of a scenario that ran. Nothing is ever said to have passed.
func TestWhatALimitShows(t *testing.T) {
	shown := Read(`=== RUN matrix
{"scenario":"burst","fault":"burst-off-by-one","verdict":"fail","why":"conformance: one too many","tried":true}
{"scenario":"concurrency","fault":"burst-off-by-one","verdict":"inconclusive","why":"it is about requests in flight"}
{"scenario":"restart","fault":"restart-forgets","verdict":"inconclusive","why":"back too soon"}
{"scenario":"other","fault":"restart-forgets","verdict":"inconclusive","why":"too-few: not asked","tried":true}
{"scenario":"sustained","fault":"never-recovers","verdict":"pass","why":"not waited for: rest (1h6m)","tried":true}
{"scenario":"burst","verdict":"pass","tried":true}
PASS
`)
	a := AtLimit(shown)
	text := a.Text()
	for _, want := range []string{"caught:\n  burst-off-by-one: burst\n",
		"not shown at this limit:\n  never-recovers: sustained: not waited for: rest (1h6m)\n" +
			"  restart-forgets: other: too-few: not asked\n",
		"1 of 3 faults caught, 2 not shown at this limit, 0 missed\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%swant\n%s", text, want)
		}
	}
	if a.Verdict() != result.Pass || strings.Contains(strings.ToLower(text), "passed") {
		t.Errorf("got %s and\n%s", a.Verdict(), text)
	}
	missed := append(a, Shown{Scenario: "burst", Fault: "x", Verdict: result.Pass, Tried: true})
	if missed.Verdict() != result.Fail || !strings.Contains(missed.Text(), "missed:\n  x: burst\n") {
		t.Errorf("a missed fault: got %s and\n%s", missed.Verdict(), missed.Text())
	}
	accused := append(a, Shown{Scenario: "burst", Verdict: result.Fail, Why: "w", Tried: true})
	if accused.Verdict() != result.Fail ||
		!strings.HasPrefix(accused.Text(), "burst FAILS a right target: w\n") {
		t.Errorf("an accused target: got %s and\n%s", accused.Verdict(), accused.Text())
	}
}
