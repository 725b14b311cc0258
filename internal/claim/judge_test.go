package claim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

const ms = time.Millisecond

// req is a request on partition k, sent at its time, in milliseconds. Status 200 was allowed, 429, 403 and
// 503 denied, 0 not answered, any other is not classified.
func req(seq, sent, first, status int, fields ...string) timeline.Observation {
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

// with changes an observation.
func with(o timeline.Observation, change func(*timeline.Observation)) timeline.Observation {
	change(&o)
	return o
}

// record makes a timeline, ascending by Sent.
func record(obs ...timeline.Observation) *timeline.Timeline {
	slices.SortStableFunc(obs, func(a, b timeline.Observation) int { return int(a.Sent - b.Sent) })
	return &timeline.Timeline{Observations: obs}
}

// noWaits is for claims that must not ask for the longest waits.
func noWaits(*timeline.Timeline, spec.Limit) map[int]time.Duration {
	panic("claim: the longest waits were asked for")
}

// one judges a single expectation.
func one(t *testing.T, tl *timeline.Timeline, e Expect) verdict.Claim {
	t.Helper()
	if e.Promised == nil { // what is missing fails; a list of nothing promises nothing
		e.Promised = verdict.Promises()
	}
	claims := judge(tl, nil, e, noWaits)
	if len(claims) != 1 {
		t.Fatalf("got %d claims, want 1", len(claims))
	}
	sound(t, tl, claims[0])
	return claims[0]
}

// sound checks what holds for every claim: Fail has findings and the others none, Inconclusive a reason and
// the others none, its kind is that of its id, witnesses ascend and are in the recording, their span holds
// them.
func sound(t *testing.T, tl *timeline.Timeline, c verdict.Claim) {
	t.Helper()
	if (c.Verdict == verdict.Fail) != (len(c.Findings) > 0) ||
		(c.Verdict == verdict.Inconclusive) != (c.Reason != "") || c.Text == "" || c.ID == "" {
		t.Errorf("got %+v, want a finding with fail only, a reason with inconclusive only, and a text", c)
	}
	known := c.Kind != "" && c.Kind == verdict.KindOf(c.ID) && c.Kind.About() != ""
	if !known && c.Reason != verdict.SetupFailed {
		t.Errorf("%s: got kind %q, want the one of its id, with a sentence", c.ID, c.Kind)
	}
	for _, f := range c.Findings {
		if len(f.Observations) == 0 || !slices.IsSorted(f.Observations) || f.Text == "" ||
			f.Seen <= f.Bound && f.Kind != verdict.RetryAfterEarly {
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

// row is one row of a table: what is expected of one claim.
type row struct {
	name string
	tl   *timeline.Timeline
	want string // verdict, or reason of an inconclusive one
	text string // a part of the claim's text, or of that of its first finding
}

func run(t *testing.T, e Expect, rows []row) {
	t.Helper()
	for _, x := range rows {
		c := one(t, x.tl, e)
		got, text := c.Verdict.String(), c.Text
		if c.Verdict == verdict.Inconclusive {
			got = string(c.Reason)
		}
		for _, f := range c.Findings {
			text += "\n" + f.Text
		}
		if got != x.want || !strings.Contains(text, x.text) {
			t.Errorf("%s: got %s: %s; want %s with %q", x.name, got, text, x.want, x.text)
		}
	}
}

func TestJudgeKeepsTheOrder(t *testing.T) {
	tl := record(req(0, 0, 1, 200), req(1, 2, 3, 429, "Retry-After: 1"))
	limit := parse(t, "token-bucket,rate=1/s,burst=1")
	claims := Judge(tl, limit, Expect{
		Fields:       []FieldGroup{RetryAfterField, RateLimitFields, DateField, ProblemBody},
		RetryAfter:   RetryAfterExpect{Honored: true, NotLonger: true},
		DeniedStatus: []int{429}, Denials: []DenialBound{{Phase: "p"}},
		Latency: []LatencyBound{{timeline.Denied, 0.99, ms}},
		Intact:  &IntactExpect{}, LateP99: ms,
	})
	want := []string{"fields-retry-after", "fields-ratelimit", "fields-date", "fields-problem",
		"retry-after-honored", "retry-after-not-longer", "denied-status", "denials-p", "latency-denied-p99",
		"intact", "schedule"}
	var got []string
	for _, c := range claims {
		sound(t, tl, c)
		got = append(got, c.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got claims %v, want %v", got, want)
	}
	if got := Judge(tl, nil, Expect{}); len(got) != 0 {
		t.Errorf("no expectation: got %d claims, want none", len(got))
	}
}

func TestNothingPassesOnNothing(t *testing.T) {
	all := Expect{
		Fields:       []FieldGroup{RetryAfterField, RateLimitFields, DateField, ProblemBody},
		RetryAfter:   RetryAfterExpect{Honored: true, NotLonger: true},
		DeniedStatus: []int{429}, Denials: []DenialBound{{Phase: "p", Max: 0}},
		Latency: []LatencyBound{{timeline.Denied, 0.99, ms}},
		Intact:  &IntactExpect{Fields: []string{"Date"}, Status: true, Body: true}, LateP99: ms,
	}
	lost := req(0, 0, 0, 0)
	odd := req(0, 0, 1, 500)
	for name, tl := range map[string]*timeline.Timeline{"empty": record(), "unanswered": record(lost),
		"not classified": record(odd)} {
		for _, c := range judge(tl, nil, all, noWaits) {
			sound(t, tl, c)
			if c.Verdict != verdict.Inconclusive && !(c.ID == "schedule" && len(tl.Observations) > 0) {
				t.Errorf("%s: %s: got %s (%s), want inconclusive", name, c.ID, c.Verdict, c.Text)
			}
		}
	}
}
