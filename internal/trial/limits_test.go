package trial

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// TestAPhaseMayHaveTheNameOfAnAim: what a phase sends is judged whatever it is called, and what finds a
// boundary is judged by the limit of its phase.
func TestAPhaseMayHaveTheNameOfAnAim(t *testing.T) {
	const two = "target: {url: builtin, fault: burst-off-by-one}\nexpect: {resolution: {burst: none, rate: " +
		"none}}\nphases:\n" +
		"  - {name: a, shape: at-once, requests: 4, partition: a, limit: 2x, path: /a}\n  - {name: b-aim, " +
		"shape: at-once, requests: 2x, partition: b}\n"
	if out := virtually(t, parsed(t, two)); out.Verdict != result.Fail {
		t.Errorf("got %s, want a failure: %s", out.Verdict, explain(out))
	}
	const edge = "target: {url: builtin}\nexpect: {resolution: {burst: none, rate: none}}\nphases:\n" +
		"  - {name: a, shape: at-once, requests: 2x, partition: a}\n  - {name: b, shape: boundary, " +
		"requests: 2, partition: b, limit: 'fixed-window,rate=5/2s,align=first', path: /b}\n"
	out := virtually(t, parsed(t, edge))
	if out.Verdict != result.Pass || out.Judgement == nil ||
		out.Judgement.Partitions[1].Verdict != result.Pass {
		t.Errorf("got %s, want a pass: %s", out.Verdict, explain(out))
	}
	_, err := scenario.Parse([]byte(head+edge+"  - {name: b-aim, shape: at-once, requests: 2}\n"), "x.yaml",
		scenario.ParseOptions{})
	if err == nil || !strings.Contains(err.Error(),
		`the requests that find the boundary of phase "b" have that name`) {
		t.Errorf("two phases with one name: got %v", err)
	}
}

// TestReplaysLeaveOutWhatNoLimitCounts: a finding names the limit of its partition where others of the
// recording have none, so that the command that replays it accuses only that partition.
func TestReplaysLeaveOutWhatNoLimitCounts(t *testing.T) {
	s := parsed(t, `target: {fault: burst-off-by-one}
phases:
  - {name: limited, shape: at-once, requests: 3x, partition: l}
  - {name: free, shape: at-once, requests: 3x, path: /f, limit: none, partition: f}
expect: {resolution: {burst: none, rate: none}}
`)
	out := virtually(t, s)
	if len(out.Claims) == 0 || len(out.Claims[0].Findings) == 0 {
		t.Fatalf("got %s, want findings: %s", out.Verdict, explain(out))
	}
	for _, f := range out.Claims[0].Findings {
		if f.Limit != s.Limit.String() || f.Partition != "m-l-1" {
			t.Errorf("got limit %q of partition %s, want %s of m-l-1", f.Limit, f.Partition, s.Limit)
		}
	}
}
