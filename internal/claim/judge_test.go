package claim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	ms       = time.Millisecond
	someDate = "Date: Fri, 20 Nov 2026 12:00:00 GMT"
)

var (
	req, with, record = sampleRequest, With, sampleRecording
	parse, noWaits    = sampleLimit, NoWaits
	verdictOf         = sampleVerdict
)

// sound is Sound for a claim that tells its kind.
func sound(t *testing.T, tl *timeline.Timeline, c result.Claim) {
	t.Helper()
	if Sound(t, tl, c); c.Kind == "" && c.Reason != result.SetupFailed {
		t.Errorf("%s: got no kind", c.ID)
	}
}

// one judges a single expectation.
func one(t *testing.T, tl *timeline.Timeline, e Expect) result.Claim {
	t.Helper()
	if e.Promised == nil { // nil makes missing fields fail; an empty list promises nothing
		e.Promised = result.Promises()
	}
	claims := judge(tl, nil, e, noWaits)
	if len(claims) != 1 {
		t.Fatalf("got %d claims, want 1", len(claims))
	}
	sound(t, tl, claims[0])
	return claims[0]
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
		got, text := verdictOf(c)
		if got != x.want || !strings.Contains(text, x.text) {
			t.Errorf("%s: got %s: %s; want %s with %q", x.name, got, text, x.want, x.text)
		}
	}
}

func TestJudgeKeepsTheOrder(t *testing.T) {
	tl := record(req(0, 0, 1, 200), req(1, 2, 3, 429, "Retry-After: 1"))
	limit := parse(t, "token-bucket,rate=1/s,burst=1")
	claims := Judge(tl, limit, Expect{
		Fields:       []Group{RetryAfter, RateLimit, DateField, ProblemBody},
		RetryAfter:   RetryAfterExpect{Honored: true, NotLonger: true},
		DeniedStatus: []int{429}, Denials: []DenialBound{{Phase: "p"}},
		Latency: []LatencyBound{{timeline.Denied, 0.99, ms, false}},
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
		Fields:       []Group{RetryAfter, RateLimit, DateField, ProblemBody},
		RetryAfter:   RetryAfterExpect{Honored: true, NotLonger: true},
		DeniedStatus: []int{429}, Denials: []DenialBound{{Phase: "p", Max: 0}},
		Latency: []LatencyBound{{timeline.Denied, 0.99, ms, false}},
		Intact:  &IntactExpect{Fields: []string{"Date"}, Status: true, Body: true}, LateP99: ms,
	}
	lost := req(0, 0, 0, 0)
	odd := req(0, 0, 1, 500)
	for name, tl := range map[string]*timeline.Timeline{"empty": record(), "unanswered": record(lost),
		"not classified": record(odd)} {
		for _, c := range judge(tl, nil, all, noWaits) {
			sound(t, tl, c)
			if c.Verdict != result.Inconclusive && !(c.ID == "schedule" && len(tl.Observations) > 0) {
				t.Errorf("%s: %s: got %s (%s), want inconclusive", name, c.ID, c.Verdict, c.Text)
			}
		}
	}
}
