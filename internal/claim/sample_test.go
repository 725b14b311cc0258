package claim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// sampleRequest returns a request on partition k in phase p, of cost 1. sent and first are in milliseconds.
// Status 200 is allowed, 429, 403 and 503 are denied, 0 is not answered, and any other is not classified. A
// field is "Name: value".
func sampleRequest(seq, sent, first, status int, fields ...string) timeline.Observation {
	o := timeline.Observation{
		Arrival: timeline.Arrival{Seq: seq, Partition: "k", Phase: "p", At: time.Duration(sent) * ms,
			Cost: 1},
		Sent: time.Duration(sent) * ms, FirstByte: time.Duration(first) * ms, Answered: status != 0,
		Status: status,
	}
	switch status {
	case 200:
		o.Outcome = timeline.Allowed
	case 429, 403, 503:
		o.Outcome = timeline.Denied
	}
	for _, line := range fields {
		name, value, _ := strings.Cut(line, ": ")
		o.Fields = append(o.Fields, timeline.Field{Name: name, Value: value})
	}
	return o
}

// With returns o after a change.
func With(o timeline.Observation, change func(*timeline.Observation)) timeline.Observation {
	change(&o)
	return o
}

// sampleRecording returns a timeline of obs, which it sorts by Sent.
func sampleRecording(obs ...timeline.Observation) *timeline.Timeline {
	slices.SortStableFunc(obs, func(a, b timeline.Observation) int { return int(a.Sent - b.Sent) })
	return &timeline.Timeline{Observations: obs}
}

// NoWaits is for claims that must not use the longest waits.
func NoWaits(*timeline.Timeline, spec.Limit, bool) map[int]time.Duration {
	panic("claim: the longest waits were asked for")
}

// Sound checks what holds for every claim. Only Fail has findings, and only Inconclusive has a reason. The
// kind, if set, is that of the id. A Pass rests on enough chances. Witnesses ascend, are in the recording,
// and lie in their span.
func Sound(t *testing.T, tl *timeline.Timeline, c result.Claim) {
	t.Helper()
	if (c.Verdict == result.Fail) != (len(c.Findings) > 0) ||
		(c.Verdict == result.Inconclusive) != (c.Reason != "") || c.Text == "" || c.ID == "" {
		t.Errorf("got %+v, want a finding with fail only, a reason with inconclusive only, and a text", c)
	}
	kind := result.KindOf(c.ID)
	known := kind.About() != "" && (c.Kind == "" || c.Kind == kind)
	if !known && c.Reason != result.SetupFailed {
		t.Errorf("%s: got kind %q, want the one of its id, with a sentence", c.ID, c.Kind)
	}
	rests(t, c)
	for _, f := range c.Findings {
		if len(f.Observations) == 0 || !slices.IsSorted(f.Observations) || f.Text == "" ||
			f.Seen <= f.Bound && f.Kind != result.RetryAfterEarly {
			t.Errorf("got finding %+v, want observations that ascend, a text, and more seen than the bound",
				f)
		}
		for _, seq := range f.Observations {
			i := slices.IndexFunc(tl.Observations, func(o timeline.Observation) bool { return o.Seq == seq })
			if i < 0 || tl.Observations[i].Sent < f.From || tl.Observations[i].FirstByte > f.To {
				t.Errorf("finding %q: #%d is not inside %v to %v", f.Text, seq, f.From, f.To)
			}
		}
	}
}

// rests checks that a Pass rests on enough chances.
func rests(t *testing.T, c result.Claim) {
	t.Helper()
	if short := c.Chances.Short(); c.Verdict == result.Pass && short != "" {
		t.Errorf("%s passes, although %s", c.ID, short)
	}
}

// sampleLimit returns the limit of a SPEC.
func sampleLimit(t *testing.T, text string) spec.Limit {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return limit
}

// sampleVerdict returns the verdict, or the reason of an inconclusive one, and all texts.
func sampleVerdict(c result.Claim) (judged, text string) {
	judged, text = c.Verdict.String(), c.Text
	if c.Verdict == result.Inconclusive {
		judged = string(c.Reason)
	}
	for _, f := range c.Findings {
		text += "\n" + f.Text
	}
	return judged, text
}
