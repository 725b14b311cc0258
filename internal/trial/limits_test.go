package trial

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// TestAPhaseMayHaveTheNameOfAnAim: what a phase sends is judged whatever it is called, and what finds a boundary is judged by the
// limit of its phase.
func TestAPhaseMayHaveTheNameOfAnAim(t *testing.T) {
	const two = "target: {url: builtin, fault: burst-off-by-one}\nexpect: {resolution: {burst: none, rate: none}}\nphases:\n" +
		"  - {name: a, shape: at-once, requests: 4, partition: a, limit: 2x, path: /a}\n  - {name: b-aim, shape: at-once, requests: 2x, partition: b}\n"
	if out := virtually(t, parsed(t, two)); out.Verdict != check.Fail {
		t.Errorf("got %s, want a failure: %s", out.Verdict, explain(out))
	}
	const edge = "target: {url: builtin}\nexpect: {resolution: {burst: none, rate: none}}\nphases:\n" +
		"  - {name: a, shape: at-once, requests: 2x, partition: a}\n  - {name: b, shape: boundary, requests: 2, partition: b, limit: 'fixed-window,rate=5/2s,align=first', path: /b}\n"
	out := virtually(t, parsed(t, edge))
	if out.Verdict != check.Pass || out.Judgement == nil || out.Judgement.Partitions[1].Verdict != check.Pass {
		t.Errorf("got %s, want a pass: %s", out.Verdict, explain(out))
	}
	_, err := scenario.Parse([]byte(head+edge+"  - {name: b-aim, shape: at-once, requests: 2}\n"), "x.yaml", scenario.ParseOptions{})
	if err == nil || !strings.Contains(err.Error(), `the requests that find the boundary of phase "b" have that name`) {
		t.Errorf("two phases with one name: got %v", err)
	}
}
