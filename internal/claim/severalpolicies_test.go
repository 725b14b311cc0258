package claim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAnswersMayTellOneOfSeveralPolicies: each limiter in a row overwrites the limit told by the one before.
// The last to write is the one that denies. What remains under one policy is not compared with what remains
// under another.
func TestAnswersMayTellOneOfSeveralPolicies(t *testing.T) {
	limit := quotaParse(t, "fixed-window,rate=5/1m,align=first + fixed-window,rate=100/1h,align=first")
	type told struct{ at, status, limit, left int }
	for _, x := range []struct {
		name string
		told []told
		want result.Verdict
	}{
		{"the last one", []told{{0, 200, 100, 99}, {10, 200, 100, 98}, {20, 200, 100, 97}, {30, 200, 100, 96},
			{40, 200, 100, 95}, {50, 429, 5, 0}, {61000, 200, 100, 94}}, result.Pass},
		{"the one with the least left",
			[]told{{0, 200, 5, 4}, {10, 200, 5, 3}, {20, 200, 5, 2}, {30, 200, 5, 1}, {40, 200, 5, 0},
				{50, 429, 5, 0}, {61000, 200, 5, 4}}, result.Pass},
		{"without their limits", []told{{0, 200, 0, 99}, {10, 200, 0, 98}, {20, 200, 0, 97}, {30, 200, 0, 96},
			{40, 200, 0, 95}, {50, 429, 0, 0}, {61000, 200, 0, 94}}, result.Pass},
		{"of one number", []told{{0, 200, 7, 8}, {10, 200, 7, 7}, {20, 429, 7, 0}, {30, 200, 7, 6}},
			result.Pass},
		{"none of them", []told{{0, 200, 100, 98}, {10, 200, 100, 97}}, result.Fail},
		{"one that does not fall", []told{{0, 200, 100, 99}, {10, 200, 100, 99}}, result.Fail},
		{"one that falls too far", []told{{0, 200, 100, 99}, {10, 200, 100, 97}}, result.Fail},
	} {
		tl, limit := quotaRecord(), limit
		if x.told[0].limit == 7 {
			limit = quotaParse(t, "token-bucket,rate=7/1m,burst=9 + fixed-window,rate=7/1h,align=first")
		}
		for i, a := range x.told {
			fields := []string{fmt.Sprint("X-Ratelimit-Remaining: ", a.left)}
			if a.limit > 0 {
				fields = append(fields, fmt.Sprint("X-Ratelimit-Limit: ", a.limit))
			}
			tl.Observations = append(tl.Observations, quotaReq(i, a.at, a.at+1, a.status, fields...))
		}
		c := judged(tl, limit, QuotaExpect{Counts: true, Fresh: true})
		if Sound(t, tl, c); c.Verdict != x.want {
			t.Errorf("%s: got %s (%s), want %s", x.name, c.Verdict, c.Text, x.want)
			for _, f := range c.Findings {
				t.Log(f.Text)
			}
		}
	}
}

// TestLimitsThatAreToldMayBeOfSeveralPolicies: the limiters in a row may each write another field, and phases
// may have limits of their own. For one policy, only one limit may be told.
func TestLimitsThatAreToldMayBeOfSeveralPolicies(t *testing.T) {
	one, two := "fixed-window,rate=5/1m", "fixed-window,rate=5/1m + fixed-window,rate=100/1h"
	both := func(seq, status, legacy, draft int) timeline.Observation {
		return quotaReq(seq, seq, seq+1, status, fmt.Sprint("X-Ratelimit-Limit: ", legacy),
			"X-Ratelimit-Remaining: 0", fmt.Sprint("Ratelimit-Limit: ", draft),
			fmt.Sprint("Ratelimit-Remaining: ", draft-legacy), "Ratelimit-Reset: 9")
	}
	other := func(o timeline.Observation) timeline.Observation { o.Phase = "other"; return o }
	for _, x := range []struct {
		name, limit    string
		tl             *timeline.Timeline
		agrees, stable result.Verdict
	}{
		{"one policy, one limit", one, quotaRecord(both(1, 200, 5, 5), both(2, 429, 5, 5)), result.Pass,
			result.Pass},
		{"one policy, two limits in turn", one, quotaRecord(both(1, 200, 5, 5), both(2, 429, 9, 9)),
			result.Pass,
			result.Fail},
		{"one policy, two limits at once", one, quotaRecord(both(1, 200, 5, 9), both(2, 429, 5, 9)),
			result.Fail,
			result.Pass},
		{"two policies in turn", two, quotaRecord(both(1, 200, 100, 100), both(2, 429, 5, 5)), result.Pass,
			result.Pass},
		{"two policies at once", two, quotaRecord(both(1, 200, 100, 5), both(2, 429, 100, 5)), result.Pass,
			result.Pass},
		{"two policies, three limits", two,
			quotaRecord(both(1, 200, 100, 100), both(2, 429, 5, 5), both(3, 429, 6, 6)), result.Pass,
			result.Fail},
		{"a phase with a limit of its own", one, quotaRecord(both(1, 200, 5, 5), other(both(2, 429, 9, 9)),
			both(3, 429, 5, 5)), result.Pass, result.Pass},
	} {
		own := map[string]spec.Limit{"other": quotaParse(t, "fixed-window,rate=9/1m")}
		e := Expect{Limits: own, Quota: QuotaExpect{Agree: true, Stable: true}}
		for i, c := range judge(x.tl, quotaParse(t, x.limit), e, NoWaits) {
			if want := [...]result.Verdict{x.agrees, x.stable}[i]; c.Verdict != want {
				t.Errorf("%s: %s: got %s (%s), want %s", x.name, c.ID, c.Verdict, c.Text, want)
			}
		}
	}
}

// twice is the answer of a limiter with two policies: what is left of each, and when it is back.
func twice(seq, at, status, a, ta, b, tb int) timeline.Observation {
	return quotaReq(seq, at, at+1, status, `Ratelimit-Policy: "burst";q=3;w=2, "sustained";q=8;w=60`,
		fmt.Sprintf(`Ratelimit: "burst";r=%d;t=%d;pk=:YQ==:, "sustained";r=%d;t=%d;pk=:YQ==:`, a, ta, b, tb))
}

// TestEachOfSeveralPoliciesIsJudged: an answer states two policies. Each has units and a reset of its own.
func TestEachOfSeveralPoliciesIsJudged(t *testing.T) {
	limit := quotaParse(t, "fixed-window,rate=3/2s,align=first + fixed-window,rate=8/1m,align=first")
	right := []timeline.Observation{twice(0, 0, 200, 2, 2, 7, 60), twice(1, 10, 200, 1, 2, 6, 60),
		twice(2, 20, 200, 0, 2, 5, 60), twice(3, 30, 429, 0, 2, 5, 60), twice(4, 2500, 200, 2, 2, 4, 58)}
	but := func(i int, o timeline.Observation) []timeline.Observation {
		out := slices.Clone(right)
		out[i] = o
		return out
	}
	for _, x := range []struct {
		name string
		obs  []timeline.Observation
		e    QuotaExpect
		want result.Verdict
	}{
		{"right", right, QuotaExpect{Counts: true}, result.Pass},
		{"the second never falls", but(1, twice(1, 10, 200, 1, 2, 7, 60)), QuotaExpect{Counts: true},
			result.Fail},
		{"the first never falls", but(1, twice(1, 10, 200, 2, 2, 6, 60)), QuotaExpect{Counts: true},
			result.Fail},
		{"a denial took from the second", but(3, twice(3, 30, 429, 0, 2, 4, 60)), QuotaExpect{Counts: true},
			result.Fail},
		{"resets", right, QuotaExpect{Reset: true}, result.Pass},
		{"the first states the reset of the second", but(0, twice(0, 0, 200, 2, 60, 7, 60)),
			QuotaExpect{Reset: true}, result.Fail},
		{"the second is a minute late", but(0, twice(0, 0, 200, 2, 2, 7, 120)), QuotaExpect{Reset: true},
			result.Fail},
		{"the denying one is early", but(3, twice(3, 30, 429, 0, 0, 5, 60)), QuotaExpect{Reset: true},
			result.Fail},
		{"the other one may be early", but(3, twice(3, 30, 429, 0, 2, 5, 0)), QuotaExpect{Reset: true},
			result.Pass},
		{"limits", right, QuotaExpect{Limit: true}, result.Pass},
		{"the one that denied", right, QuotaExpect{Denials: true}, result.Pass},
		{"the second one denied", but(3, twice(3, 30, 429, 1, 2, 0, 60)), QuotaExpect{Denials: true},
			result.Pass},
		{"one that did not deny", but(3, twice(3, 30, 429, 1, 2, 5, 60)), QuotaExpect{Denials: true},
			result.Fail},
	} {
		tl := quotaRecord(x.obs...)
		x.e.Fresh = true
		c := judged(tl, limit, x.e)
		if Sound(t, tl, c); c.Verdict != x.want {
			t.Errorf("%s: got %s (%s), want %s", x.name, c.Verdict, c.Text, x.want)
		}
		for _, f := range c.Findings {
			t.Log(x.name, f.Text)
		}
	}
}

// TestADenialStatesTheLimitThatDenied: 9 in 2 s and 4 in a minute, and the fields are those of the first.
func TestADenialStatesTheLimitThatDenied(t *testing.T) {
	const two = "fixed-window,rate=9/2s,align=first + fixed-window,rate=4/1m,align=first"
	const batches = "token-bucket,rate=10/s,burst=9,refill=interval,fill=5"
	const settling = "sliding-window-log,rate=9/2s,charge=completion,linger=0s"
	told := func(seq, at, took, status, left int, more ...string) timeline.Observation {
		return quotaReq(seq, at, at+took, status, append(more, "X-Ratelimit-Limit: 9",
			fmt.Sprint("X-Ratelimit-Remaining: ", left), "X-Ratelimit-Reset: 2")...)
	}
	opened := []timeline.Observation{told(0, 0, 1, 200, 8), told(1, 10, 1, 200, 7), told(2, 20, 1, 200, 6),
		told(3, 30, 1, 200, 5)}
	heavy := func(o timeline.Observation) timeline.Observation { o.Cost = 2; return o }
	late := func(o timeline.Observation) timeline.Observation {
		o.Cost, o.Done = 9, 500*time.Millisecond
		return o
	}
	for _, x := range []struct {
		name, limit string
		more        []timeline.Observation
		want, text  string
	}{
		{"units left", two, []timeline.Observation{told(4, 120, 1, 429, 5)}, "fail",
			"5 of a limit of 9"},
		{"none left", two, []timeline.Observation{told(4, 120, 1, 429, 0)}, "pass", ""},
		{"a request of two units", two, []timeline.Observation{heavy(told(4, 120, 1, 429, 1))},
			"needs-failed", ""},
		{"costs are settled, and none left", settling, []timeline.Observation{told(4, 120, 1, 429, 0)},
			"pass", ""},
		{"costs are settled, and one left", settling, []timeline.Observation{told(4, 120, 1, 429, 5)}, "fail",
			"5 of a limit of 9"},
		{"a charge may come late", settling, []timeline.Observation{late(told(3, 110, 1, 200, 5)),
			told(4, 120, 1, 429, 5)}, "too-few", ""},
		{"an estimate is reserved", "fixed-window,rate=9/2s,reserve=2,linger=0s",
			[]timeline.Observation{told(4, 120, 1, 429, 1)}, "needs-failed", ""},
		{"a rival took it", two, []timeline.Observation{told(4, 120, 9, 429, 1), told(5, 122, 9, 200, 0)},
			"too-few", ""},
		{"its window ended on the way", two, []timeline.Observation{told(4, 1999, 3, 429, 2)}, "too-few", ""},
		{"one of two met no end of a window", two, []timeline.Observation{told(4, 2500, 1, 429, 5),
			told(5, 2510, 1, 429, 5)}, "fail", "#4, #5 were denied one after the other"},
		{"each of two windows may end once", "fixed-window,rate=9/2s + fixed-window,rate=4/1m",
			[]timeline.Observation{told(4, 2500, 1, 429, 5), told(5, 2510, 1, 429, 5)}, "too-few", ""},
		{"but not twice", "fixed-window,rate=9/2s,align=unknown + fixed-window,rate=4/1m,align=unknown",
			[]timeline.Observation{told(4, 2500, 1, 429, 5), told(5, 2510, 1, 429, 5), told(6, 2520, 1, 429,
				5)},
			"fail", "#4, #5, #6 were denied"},
		{"they are too far apart", two, []timeline.Observation{told(4, 2500, 1, 429, 5), told(5, 4600, 1,
			429, 5)},
			"too-few", ""},
		{"they are at once", two, []timeline.Observation{told(4, 2500, 9, 429, 5), told(5, 2501, 9, 429, 5),
			told(6, 2502, 9, 429, 5)}, "too-few", ""},
		{"a bucket got it back on the way", slowBucket, []timeline.Observation{told(4, 120, 120, 429, 1)},
			"too-few", ""},
		{"a batch may have come back", batches, []timeline.Observation{told(4, 120, 1, 429, 5)}, "too-few",
			""},
		{"no two batches came back", batches, []timeline.Observation{told(4, 120, 1, 429, 5),
			told(5, 130, 1, 429, 5)}, "fail", "#4, #5 were denied"},
		{"a batch may come with each", batches, []timeline.Observation{told(4, 120, 1, 429, 5),
			told(5, 660, 1, 429, 5)}, "too-few", ""},
		{"a bucket did not", slowBucket, []timeline.Observation{told(4, 120, 20, 429, 2)}, "fail",
			"1 came back"},
		{"a ban explains it", "fixed-window,rate=3/2s,align=first,ban=9s",
			[]timeline.Observation{told(4, 120, 1, 429, 1)}, "too-few", ""},
		{"it came back at the reset", two, []timeline.Observation{told(4, 120, 1, 429, 0), told(5, 3200, 1,
			429, 0)},
			"fail", "was denied with reset (x-ratelimit): 2.000 s"},
		{"it came back within a second of it", two,
			[]timeline.Observation{told(4, 120, 1, 429, 0), told(5, 2500, 1, 429, 0)}, "pass", ""},
		{"a rival came before it", two, []timeline.Observation{told(4, 120, 1, 429, 0), told(5, 3200, 9, 200,
			0),
			told(6, 3202, 9, 429, 0)}, "pass", ""},
		{"Retry-After tells more", two, []timeline.Observation{told(4, 120, 1, 429, 0, "Retry-After: 58"),
			told(5, 3200, 1, 429, 0, "Retry-After: 55")}, "pass", ""},
		{"tokens may be what denied", two, []timeline.Observation{told(4, 120, 1, 429, 1,
			"X-Ratelimit-Remaining-Tokens: 30")}, "too-few", ""},
	} {
		tl := quotaRecord(slices.Concat(opened, x.more)...)
		c := judged(tl, quotaParse(t, x.limit), QuotaExpect{Denials: true, Fresh: true})
		Sound(t, tl, c)
		if got, text := quotaVerdictOf(c); got != x.want || !strings.Contains(text, x.text) {
			t.Errorf("%s: got %s: %s; want %s with %q", x.name, got, text, x.want, x.text)
		}
	}
}

// TestQuotasOfLLMServices: requests are judged, and tokens are named.
func TestQuotasOfLLMServices(t *testing.T) {
	const limit = "fixed-window,rate=10/4s,align=first"
	openai := func(seq, status, left int, reset string) timeline.Observation {
		return quotaReq(seq, 10*seq, 10*seq+1, status, "X-Ratelimit-Limit-Requests: 10",
			fmt.Sprint("X-Ratelimit-Remaining-Requests: ", left), "X-Ratelimit-Reset-Requests: "+reset,
			"X-Ratelimit-Limit-Tokens: 40000", "X-Ratelimit-Remaining-Tokens: 39999",
			"X-Ratelimit-Reset-Tokens: 6m0s")
	}
	anthropic := func(seq, status, left int, reset string) timeline.Observation {
		return quotaReq(seq, 10*seq, 10*seq+1, status, "Date: Tue, 14 Nov 2023 22:13:20 GMT",
			"Anthropic-Ratelimit-Requests-Limit: 10",
			fmt.Sprint("Anthropic-Ratelimit-Requests-Remaining: ", left),
			"Anthropic-Ratelimit-Requests-Reset: 2023-11-14T"+reset+"Z")
	}
	plain := func(seq, status int, fields ...string) timeline.Observation {
		return quotaReq(seq, 10*seq, 10*seq+1, status, fields...)
	}
	for _, x := range []struct {
		name       string
		e          QuotaExpect
		obs        []timeline.Observation
		want, text string
	}{
		{"counts", QuotaExpect{Counts: true}, []timeline.Observation{openai(0, 200, 9, "4s"),
			openai(1, 200, 8, "3.99s")}, "pass", "2 of 2"},
		{"stuck", QuotaExpect{Counts: true}, []timeline.Observation{openai(0, 200, 9, "4s"),
			openai(1, 200, 9, "3.99s")}, "fail", "at most 8 remain"},
		{"a limit and tokens", QuotaExpect{Limit: true}, []timeline.Observation{openai(0, 200, 9, "4s")},
			"pass",
			"sent, but not judged: x-ratelimit tokens (a limit of 40000 in #0, which is not declared)"},
		{"a reset", QuotaExpect{Reset: true}, []timeline.Observation{openai(0, 200, 9, "4s")}, "pass", ""},
		{"an hour", QuotaExpect{Reset: true}, []timeline.Observation{openai(0, 200, 9, "1h0m0s")}, "fail",
			"a reset in 3600.000 s"},
		{"RFC 3339", QuotaExpect{Reset: true}, []timeline.Observation{anthropic(0, 200, 9, "22:13:24")},
			"pass", ""},
		{"RFC 3339, late", QuotaExpect{Reset: true}, []timeline.Observation{anthropic(0, 200, 9, "22:23:24")},
			"fail", "at the latest"},
		{"RFC 3339, stuck", QuotaExpect{Counts: true}, []timeline.Observation{anthropic(0, 200, 9,
			"22:13:24"),
			anthropic(1, 200, 9, "22:13:24")}, "fail", "at most 8 remain"},
		{"not limited", QuotaExpect{Limit: true}, []timeline.Observation{plain(0, 200,
			"X-Ratelimit-Limit: -1",
			"X-Ratelimit-Remaining: -1", "X-Ratelimit-Reset: 0")}, "fail",
			"that nothing limits the client (-1)"},
		{"not limited breaks no rule", QuotaExpect{Conventions: true}, []timeline.Observation{plain(0, 200,
			"X-Ratelimit-Limit: -1", "X-Ratelimit-Remaining: -1", "X-Ratelimit-Reset: 0")}, "pass", ""},
		{"another policy", QuotaExpect{Limit: true}, []timeline.Observation{plain(0, 200,
			"X-Ratelimit-Limit: 10", "X-Ratelimit-Policy: 20;w=60")}, "fail",
			"a limit of 20 in 60.0 s (x-ratelimit-policy)"},
		{"the same policy", QuotaExpect{Limit: true}, []timeline.Observation{plain(0, 200,
			"X-Ratelimit-Limit: 10", "X-Ratelimit-Policy: 10;w=4")}, "pass", ""},
		{"a field that nobody reads", QuotaExpect{Limit: true}, []timeline.Observation{plain(0, 200,
			"X-Ratelimit-Limit: 10", "X-Throttle-State: open")}, "pass",
			`sent, but not judged: X-Throttle-State ("open" in #0)`},
	} {
		c := toldUnder(t, limit, x.e, x.obs...)
		if got, text := quotaVerdictOf(c); got != x.want || !strings.Contains(text, x.text) {
			t.Errorf("%s: got %s: %s; want %s with %q", x.name, got, text, x.want, x.text)
		}
	}
}
