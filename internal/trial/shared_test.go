package trial

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// echo returns a recording of echo v5.4.4. After a denial its limiter reserves and cancels, and a token that
// came back in between is lost. Denials with 1 of 5 units in use prove it.
func echo(t *testing.T) *result.Scenario {
	t.Helper()
	f, err := os.Open("testdata/echo.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	tl, err := timeline.Read(f, "echo", timeline.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := spec.Parse("token-bucket,rate=5/2s,burst=5")
	if err != nil {
		t.Fatal(err)
	}
	j, err := check.Judge(tl, l, check.Options{Conformance: result.Exact})
	if err != nil {
		t.Fatal(err)
	}
	return &result.Scenario{ID: "quota-window", Verdict: j.Verdict, Limit: l, Target: "t", Judgement: j,
		Timeline: tl}
}

// later returns the recording of s as that of another client, which began later.
func later(s *result.Scenario, id string, by time.Duration) *result.Scenario {
	out, tl := *s, *s.Timeline
	tl.Header.Started = tl.Header.Started.Add(by)
	tl.Observations = slices.Clone(tl.Observations)
	for i := range tl.Observations {
		tl.Observations[i].Partition = id
	}
	out.ID, out.Timeline = id, &tl
	return &out
}

// TestTokensThatAreLostAreNoDisturbance: other clients, at whatever times, do not explain that a token was
// lost. One quota for all of them would.
func TestTokensThatAreLostAreNoDisturbance(t *testing.T) {
	s := echo(t)
	if s.Verdict != result.Fail {
		t.Fatalf("got %s, want fail", s.Verdict)
	}
	var beside []*result.Scenario
	for id, n := range map[string]int{"burst": -2, "recovery": -1, "retry-after": 1, "tiers": 2,
		"own-window": 3} {
		beside = append(beside, later(s, id, time.Duration(n)*700*time.Millisecond))
	}
	if why := Disturbed(s, beside); why != "" {
		t.Errorf("got %q, want nothing", why)
	}
	first := s.Findings()[0]
	at := slices.IndexFunc(s.Timeline.Observations, func(o timeline.Observation) bool {
		return o.Seq == first.Observations[len(first.Observations)-1]
	})
	loud := later(s, "loud", 0)
	loud.Timeline.Observations = nil
	for i := range 9 { // at the same time as the denial in question, nine others are admitted
		o := s.Timeline.Observations[at]
		o.Seq, o.Outcome, o.Partition = i, timeline.Allowed, "loud"
		o.Sent, o.FirstByte = o.Sent-time.Millisecond, o.Sent-time.Millisecond/2
		loud.Timeline.Observations = append(loud.Timeline.Observations, o)
	}
	if why := Disturbed(s, append(beside, loud)); why == "" {
		t.Error("nine others were admitted just before the denial: got nothing")
	}
}
