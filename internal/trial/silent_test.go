package trial

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestLossesAreNoDenials: requests without an answer are held against a target only where they are exactly
// those that its limit denies, and where it never answers with a denial.
func TestLossesAreNoDenials(t *testing.T) {
	src, err := os.ReadFile("../../scenarios/burst.yaml")
	if err != nil {
		t.Fatal(err)
	}
	env := func(string) (string, bool) { return "", false }
	const window, bucket = "fixed-window,rate=20/10m,align=first", "token-bucket,rate=10/s,burst=20"
	for _, c := range []struct {
		name, limit    string
		admitted, lost int
		slow           time.Duration
		word           string // of those that are lost, which come last
		change         func([]timeline.Observation)
		want           bool
	}{
		{"closed where it denies", window, 20, 20, 1, "eof", nil, true},
		{"silent where it denies", window, 20, 5, 1, "timeout", nil, true},
		{"silent for long", bucket, 20, 20, 1, "timeout", nil, true},
		{"one at a time", bucket, 20, 20, 4 * time.Second, "timeout", nil, false},
		{"lost although there is room", window, 19, 21, 1, "eof", nil, false},
		{"no limit at all", window, 30, 20, 1, "eof", nil, false},
		{"a few", window, 20, 4, 1, "eof", nil, false},
		{"not reached", window, 20, 20, 1, "refused", nil, false},
		{"a denial that is answered", window, 20, 20, 1, "eof", func(obs []timeline.Observation) {
			o := &obs[30]
			o.Answered, o.Error, o.Status, o.Outcome = true, "", 429, timeline.Denied
		}, false},
		{"an answer of another kind", window, 20, 20, 1, "eof", func(obs []timeline.Observation) {
			o := &obs[30]
			o.Answered, o.Error, o.Status = true, "", 500
		}, false},
	} {
		s, err := scenario.Parse(src, "burst.yaml", scenario.ParseOptions{Env: env, Limit: c.limit})
		if err != nil {
			t.Fatal(err)
		}
		tl := &timeline.Timeline{}
		for i := range c.admitted + c.lost {
			at := time.Duration(i) * time.Millisecond
			o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1, Partition: "k",
				Phase: "p", At: at}, Sent: at,
				FirstByte: at + c.slow, Answered: true, Status: 200, Outcome: timeline.Allowed}
			if i >= c.admitted {
				o.FirstByte, o.Answered, o.Status, o.Outcome, o.Error = 0, false, 0, timeline.Unknown, c.word
			}
			tl.Observations = append(tl.Observations, o)
		}
		if c.change != nil {
			c.change(tl.Observations)
		}
		tl.Header.Ended = tl.End()
		for i := range tl.Observations {
			tl.Observations[i].Phase = s.Phases[0].Observed()[0]
		}
		if _, got := answered(tl, s); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		s.Denied.Unanswered = true
		if _, got := answered(tl, s); got {
			t.Errorf("%s: declared, and found", c.name)
		}
	}
}

// TestATargetThatWentAwayIsNoPass: a phase without any answer says nothing of the limit, whatever the others
// show. One lost answer among others does not matter, nor does silence that the target declares.
func TestATargetThatWentAwayIsNoPass(t *testing.T) {
	s := bundled(t, scenario.ParseOptions{}, "burst")[0]
	sent := against(t, s, "")
	if sent.Verdict != result.Pass {
		t.Fatalf("got %s, want a PASS to begin with: %s", sent.Verdict, explain(sent))
	}
	last := sent.Timeline.Observations[len(sent.Timeline.Observations)-1].Phase
	lose := func(all bool) result.Verdict {
		tl := *sent.Timeline
		tl.Observations = slices.Clone(tl.Observations)
		for i := len(tl.Observations) - 1; i >= 0 && tl.Observations[i].Phase == last; i-- {
			o := &tl.Observations[i]
			o.Answered, o.Status, o.Outcome, o.Error = false, 0, timeline.Unknown, transport.CauseRefused
			o.FirstByte, o.Done = 0, 0
			if !all {
				break
			}
		}
		out := sent
		Judge(&out, s, &tl)
		if out.Verdict == result.Inconclusive && (out.Reason != result.Unreachable ||
			!strings.HasPrefix(out.Detail, "no request of phase "+last+" was answered: ")) {
			t.Errorf("got %s %s", out.Reason, out.Detail)
		}
		return out.Verdict
	}
	if got := lose(false); got != result.Pass {
		t.Errorf("one answer lost: got %s, want a PASS", got)
	}
	if got := lose(true); got != result.Inconclusive {
		t.Errorf("no answer of the last phase: got %s, want INCONCLUSIVE", got)
	}
	if s.Denied.Unanswered = true; lose(true) != result.Pass {
		t.Error("a target that declares to be silent: got no PASS")
	}
}

// TestAnswersThatMayNotBeTheLimiters: redirects and errors of the server alone prove nothing about a limiter,
// and one other answer is enough for a FAIL.
func TestAnswersThatMayNotBeTheLimiters(t *testing.T) {
	const ok, no = timeline.Allowed, timeline.Denied
	one := func(status int, o timeline.Outcome) timeline.StatusCount {
		return timeline.StatusCount{Status: status, Outcome: o, Answers: 9}
	}
	for name, x := range map[string]struct {
		in      []timeline.StatusCount
		allowed []int
		want    result.Verdict
	}{
		"all redirected": {[]timeline.StatusCount{one(301, ok), one(302, ok)}, nil,
			result.Inconclusive},
		"some redirected":        {[]timeline.StatusCount{one(302, ok), one(429, no)}, nil, result.Fail},
		"redirects are declared": {[]timeline.StatusCount{one(302, ok)}, []int{302}, result.Fail},
		"not modified":           {[]timeline.StatusCount{one(304, ok)}, nil, result.Fail},
		"all unavailable":        {[]timeline.StatusCount{one(503, no)}, nil, result.Inconclusive},
		"unavailable where not denied": {[]timeline.StatusCount{one(429, no), one(503, no)}, nil,
			result.Inconclusive},
		"some unavailable": {[]timeline.StatusCount{one(200, ok), one(503, no)}, nil, result.Fail},
		"all denied":       {[]timeline.StatusCount{one(429, no)}, nil, result.Fail},
		"no answer":        {nil, nil, result.Fail},
	} {
		out := result.Scenario{Verdict: result.Fail, Claims: []result.Claim{{}},
			Judgement: &result.Judgement{}}
		out.Header.Notes = result.NoteForeign(nil, x.in, len(x.allowed) > 0)
		doubtAnswers(&out)
		if open := x.want == result.Inconclusive; out.Verdict != x.want || (out.Judgement == nil) != open ||
			(out.Reason == result.UnclassifiedStatus) != open {
			t.Errorf("%s: got %v, %s", name, out.Verdict, out.Reason)
		}
	}
	passes := result.Scenario{Verdict: result.Pass}
	passes.Header.Notes = result.NoteForeign(nil, []timeline.StatusCount{one(503, no)}, false)
	if doubtAnswers(&passes); passes.Verdict != result.Pass {
		t.Errorf("what passes: got %v", passes.Verdict)
	}
}
