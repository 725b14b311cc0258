package claim

import (
	"fmt"
	"testing"

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
		known := Terms{Limit: quotaParse(t, x.limit),
			Own: map[string]spec.Limit{"other": quotaParse(t, "fixed-window,rate=9/1m")}}
		r := NewRecording(x.tl, known, NoWaits)
		for i, c := range judgeQuota(r, QuotaExpect{Agree: true, Stable: true}) {
			if want := [...]result.Verdict{x.agrees, x.stable}[i]; c.Verdict != want {
				t.Errorf("%s: %s: got %s (%s), want %s", x.name, c.ID, c.Verdict, c.Text, want)
			}
		}
	}
}
