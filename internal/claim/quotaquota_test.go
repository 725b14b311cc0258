package claim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var (
	quotaReq, quotaWith, quotaRecord = sampleRequest, With, sampleRecording
	quotaParse, quotaVerdictOf       = sampleLimit, sampleVerdict
)

// judged is one claim, of a recording under a limit.
func judged(tl *timeline.Timeline, limit spec.Limit, e QuotaExpect) result.Claim {
	return judge(tl, limit, Expect{Quota: e}, NoWaits)[0]
}

// quotaRow is one row of a table: what is expected of one claim.
type quotaRow struct {
	name string
	tl   *timeline.Timeline
	want string // verdict, or reason of an inconclusive one
	text string // a part of the claim's text, or of that of its first finding
}

// quotaRun judges one claim, of recordings without a limit.
func quotaRun(t *testing.T, promised []result.Promise, e QuotaExpect, rows []quotaRow) {
	t.Helper()
	for _, x := range rows {
		c := judge(x.tl, nil, Expect{Quota: e, Promised: promised}, NoWaits)[0]
		Sound(t, x.tl, c)
		if got, text := quotaVerdictOf(c); got != x.want || !strings.Contains(text, x.text) {
			t.Errorf("%s: got %s: %s; want %s with %q", x.name, got, text, x.want, x.text)
		}
	}
}

// told5 is a request whose answer tells, in both dialects, a limit of 5 and what remains.
func told5(seq, sent, first, status, left int) timeline.Observation {
	return quotaReq(seq, sent, first, status, "X-Ratelimit-Limit: 5",
		fmt.Sprint("X-Ratelimit-Remaining: ", left),
		"X-Ratelimit-Reset: 1",
		`Ratelimit-Policy: "p";q=5`, fmt.Sprintf(`Ratelimit: "p";r=%d;t=1`, left))
}

func TestQuotaConventions(t *testing.T) {
	quotaRun(t, result.Promises(), QuotaExpect{Conventions: true}, []quotaRow{
		{"well formed", quotaRecord(told5(1, 0, 1, 200, 4), told5(2, 2, 3, 429, 0)), "pass",
			"2 of 2 answers that state a quota break no rule"},
		{"nothing is told", quotaRecord(quotaReq(1, 0, 1, 200, someDate)), "too-few",
			"no answer states a quota"},
		{"more than the limit", quotaRecord(told5(1, 0, 1, 200, 6)), "fail", "RL-R-LE-Q"},
		{"more than the limit, by convention", quotaRecord(told5(1, 0, 1, 200, 6)), "fail", "XR-REM-RANGE"},
		{"below zero", quotaRecord(quotaReq(1, 0, 1, 200, "X-Ratelimit-Limit: 5",
			"X-Ratelimit-Remaining: -1")), "fail",
			"XR-REM-RANGE"},
		{"a reset in milliseconds",
			quotaRecord(quotaReq(1, 0, 1, 200, "X-Ratelimit-Limit: 5", "X-Ratelimit-Reset: 1795168358408")),
			"fail",
			"a reset is in seconds"},
		{"go-limiter: a reset that is a date", quotaRecord(quotaReq(1, 0, 1, 200, "X-Ratelimit-Limit: 5",
			"X-Ratelimit-Reset: Fri, 20 Nov 2026 12:01:00 UTC")), "fail", `XR-EPOCH`},
		{"tollbooth: more than the limit of a draft",
			quotaRecord(quotaReq(1, 0, 1, 200, "Ratelimit-Limit: 10",
				"Ratelimit-Remaining: 19", "Ratelimit-Reset: 1")), "fail", "R3-REM-RANGE"},
		{"Imgur: less than nothing", quotaRecord(quotaReq(1, 0, 1, 200, "X-Ratelimit-Userlimit: 500",
			"X-Ratelimit-Userremaining: -1")), "fail", "XR-REM-RANGE"},
		{"what nothing explains",
			quotaRecord(quotaWith(told5(1, 0, 1, 200, 4), func(o *timeline.Observation) {
				o.Fields = append(o.Fields, timeline.Field{Name: "X-Rate-Limit", Value: "36000"})
			})), "pass", `; sent, but not judged: X-Rate-Limit ("36000" in #1)`},
		{"nothing else is told", quotaRecord(quotaReq(1, 0, 1, 200, "X-Rate-Limit: 36000")), "too-few",
			`; sent, but not judged: X-Rate-Limit ("36000" in #1)`},
		{"a reset in seconds",
			quotaRecord(quotaReq(1, 0, 1, 200, "X-Ratelimit-Limit: 5", "X-Ratelimit-Reset: 1795168358")),
			"pass", ""},
		{"at the origin", quotaRecord(told5(1, 0, 1, 200, 4),
			quotaWith(told5(2, 2, 3, 200, 9), func(o *timeline.Observation) { o.Origin = true })), "pass",
			"1 of 1"},
	})
}

func TestDialectsAgree(t *testing.T) {
	both := func(limit, left int) timeline.Observation {
		return quotaReq(1, 0, 1, 200, fmt.Sprint("X-Ratelimit-Limit: ", limit),
			fmt.Sprint("X-Ratelimit-Remaining: ", left), `Ratelimit-Policy: "p";q=5`,
			`Ratelimit: "p";r=4;t=1`)
	}
	quotaRun(t, result.Promises(), QuotaExpect{Agree: true}, []quotaRow{
		{"they do", quotaRecord(both(5, 4)), "pass", "1 answer were compared"},
		{"two limits", quotaRecord(both(9000, 4)), "fail",
			"#1: x-ratelimit states a limit of 9000 and ratelimit-08 a limit of 5"},
		{"two remainders", quotaRecord(both(5, 3)), "fail", "says that 3 remain and ratelimit-08 that 4 do"},
		{"one dialect", quotaRecord(quotaReq(1, 0, 1, 200, "X-Ratelimit-Limit: 5")), "needs-failed",
			"in only one dialect"},
		{"several policies of one dialect",
			quotaRecord(quotaReq(1, 0, 1, 200, "X-Ratelimit-Limit: 5", `Ratelimit-Policy: "p";q=6, "q";q=7`,
				`Ratelimit: "p";r=4, "q";r=3`)), "needs-failed", ""},
	})
}

func TestLimitsAreStable(t *testing.T) {
	limit := func(seq, limit int, partition string) timeline.Observation {
		return quotaWith(quotaReq(seq, 2*seq, 2*seq+1, 200, fmt.Sprint("X-Ratelimit-Limit: ", limit)),
			func(o *timeline.Observation) { o.Partition = partition })
	}
	quotaRun(t, result.Promises(), QuotaExpect{Stable: true}, []quotaRow{
		{"one limit", quotaRecord(limit(1, 5, "k"), limit(2, 5, "k")), "pass", "one limit: 5"},
		{"a limit for each partition", quotaRecord(limit(1, 5, "k"), limit(2, 60, "l")), "too-few",
			"one limit: 5, 60"},
		{"another one later", quotaRecord(limit(1, 5, "k"), limit(2, 6, "k"), limit(3, 5, "k")), "fail",
			"a limit of 6, and #1 stated a limit of 5; in all 1 answer: #2"},
		{"no limit", quotaRecord(quotaReq(1, 0, 1, 200, "X-Ratelimit-Remaining: 5")), "too-few",
			"no answer states a limit"},
	})
}

// slowBucket is a bucket of 5 that gets one unit back every 100 ms.
const slowBucket = "token-bucket,rate=10/s,burst=5"

func TestRemainingUnitsFitTheRequestsBefore(t *testing.T) {
	cost := func(o timeline.Observation, c int64) timeline.Observation { o.Cost = c; return o }
	other := func(o timeline.Observation) timeline.Observation { o.Partition = "l"; return o }
	for _, x := range []struct {
		name, limit string
		tl          *timeline.Timeline
		want, text  string
	}{
		{"down to nothing", slowBucket,
			quotaRecord(told5(1, 0, 1, 200, 4), told5(2, 2, 3, 200, 3), told5(3, 4, 5, 200, 2)), "pass",
			"3 of 3 answers"},
		{"told before the request", slowBucket, quotaRecord(told5(1, 0, 1, 200, 5), told5(2, 2, 3, 200, 4)),
			"fail", "a full start of 5 less its cost of 1 leaves 4"},
		{"started with less", slowBucket, quotaRecord(told5(1, 0, 1, 200, 3), told5(2, 2, 3, 200, 2)), "fail",
			"#1, the first of its partition, says that 3 remain"},
		{"stuck", slowBucket, quotaRecord(told5(1, 0, 1, 200, 4), told5(2, 2, 3, 200, 4),
			told5(3, 4, 5, 200, 4)),
			"fail", "#1 says that 4 remain, and #3 that 4 do; 2 were admitted after it, and at most 1 " +
				"came back in 0.005000 s, so at most 3 remain"},
		{"came back", slowBucket, quotaRecord(told5(1, 0, 1, 200, 4), told5(2, 99, 100, 200, 4)), "pass", ""},
		{"came back too soon", slowBucket,
			quotaRecord(told5(1, 0, 1, 200, 4), told5(2, 2, 3, 200, 3), told5(3, 99, 100, 200, 4)), "fail",
			"at most 3 remain"},
		{"counted twice", slowBucket, quotaRecord(told5(1, 0, 1, 200, 4), told5(2, 2, 3, 200, 2)), "fail",
			"#1 says that 4 remain, and #2 that 2 do; it was allowed and cost 1, so at least 3 remain"},
		{"by its cost", slowBucket, quotaRecord(told5(1, 0, 1, 200, 4), cost(told5(2, 2, 3, 200, 2), 2)),
			"pass",
			""},
		{"a denial takes nothing", slowBucket,
			quotaRecord(told5(1, 0, 1, 200, 4), cost(told5(2, 2, 3, 429, 4), 9),
				cost(told5(3, 4, 5, 429, 3), 9)), "fail",
			"#2 says that 4 remain, and #3 that 3 do; it was denied and cost 0, so at least 4 remain"},
		{"a denial that is counted", slowBucket + ",count=all",
			quotaRecord(told5(1, 0, 1, 200, 4), cost(told5(2, 2, 3, 429, 0), 9)), "pass", ""},
		{"a rival", slowBucket,
			quotaRecord(told5(1, 0, 1, 200, 4), told5(2, 2, 5, 200, 2), told5(3, 4, 6, 200, 3)), "pass",
			"1 of 1 answer"},
		{"a rival that was not answered", slowBucket,
			quotaRecord(quotaReq(1, 0, 0, 0), told5(2, 2, 3, 200, 2), told5(3, 4, 5, 200, 4)), "too-few",
			"without rivals"},
		{"a rival of another partition", slowBucket,
			quotaRecord(told5(1, 0, 5, 200, 4), other(told5(2, 2, 7, 200, 4)), told5(3, 8, 9, 200, 3)),
			"pass",
			"3 of 3"},
		{"an edge of windows between", "fixed-window,rate=5/1s,align=first",
			quotaRecord(told5(1, 0, 1, 200, 4), told5(2, 2, 3, 200, 3), told5(3, 1002, 1003, 200, 4)), "pass",
			""},
		{"no edge between", "fixed-window,rate=5/1s,align=first",
			quotaRecord(told5(1, 0, 1, 200, 4), told5(2, 2, 3, 200, 3), told5(3, 990, 998, 200, 4)), "fail",
			"at most 0 came back"},
		{"an edge that may be anywhere", "fixed-window,rate=5/1s",
			quotaRecord(told5(1, 0, 1, 200, 4), told5(2, 2, 3, 200, 4)), "pass", ""},
		{"given back when a request is complete", "concurrency,limit=5",
			quotaRecord(told5(1, 0, 1, 200, 4), told5(2, 2, 3, 200, 4)), "needs-failed",
			"which no answer says"},
		{"left the log", "sliding-window-log,rate=5/1s",
			quotaRecord(told5(1, 0, 1, 200, 4), told5(2, 500, 501, 200, 3), told5(3, 1001, 1002, 200, 3)),
			"pass",
			""},
		{"not yet left the log", "sliding-window-log,rate=5/1s",
			quotaRecord(told5(1, 0, 1, 200, 4), told5(2, 500, 501, 200, 3), told5(3, 990, 991, 200, 3)),
			"fail",
			"at most 0 came back"},
	} {
		c := judged(x.tl, quotaParse(t, x.limit), QuotaExpect{Counts: true, Fresh: true})
		Sound(t, x.tl, c)
		got, text := quotaVerdictOf(c)
		if got != x.want || !strings.Contains(text, x.text) {
			t.Errorf("%s: got %s: %s; want %s with %q", x.name, got, text, x.want, x.text)
		}
	}
}

// TestWindowsOfAKnownClockGiveNothingBack: windows that are aligned to the clock are known as exactly as the
// clock is.
func TestWindowsOfAKnownClockGiveNothingBack(t *testing.T) {
	tl := quotaRecord(told5(1, 100, 101, 200, 4), told5(2, 102, 103, 200, 4))
	tl.Header.Started = time.Unix(1_700_000_000, 0)
	for wallError, want := range map[time.Duration]result.Verdict{90 * ms: result.Fail,
		110 * ms: result.Pass} {
		tl.Header.WallError = wallError
		if c := judged(tl, quotaParse(t, "fixed-window,rate=5/1s"),
			QuotaExpect{Counts: true, Fresh: true}); c.Verdict != want {
			t.Errorf("known to %v: got %s, want %s: %s", wallError, c.Verdict, want, c.Text)
		}
	}
}

// TestPartOfAQuotaMayBeLeftOut: an answer that tells the limit need not tell what remains.
func TestPartOfAQuotaMayBeLeftOut(t *testing.T) {
	limits := quotaRecord(quotaReq(1, 0, 1, 200, "X-Ratelimit-Limit: 5"),
		quotaReq(2, 2, 3, 200, "X-Ratelimit-Limit: 5"))
	left := quotaRecord(quotaReq(1, 0, 1, 200, "X-Ratelimit-Remaining: many"),
		quotaReq(2, 2, 3, 200, someDate))
	quotaRun(t, nil, QuotaExpect{Counts: true}, []quotaRow{
		{"no remaining units", limits, "needs-failed", "none of 2 answers has the remaining quota"},
		{"remaining units that cannot be read", left, "too-few", ""},
	})
	const alone, beside = "X-Ratelimit-Remaining: 5", "X-Ratelimit-Limit: 9"
	remains := quotaRecord(quotaReq(1, 0, 1, 200, alone), quotaReq(2, 2, 3, 200, "X-Ratelimit-Remaining: 4"))
	mixed := quotaRecord(quotaReq(1, 0, 1, 200, alone, beside),
		quotaReq(2, 2, 3, 200, "X-Ratelimit-Remaining: 4"))
	conventions := QuotaExpect{Conventions: true}
	quotaRun(t, nil, conventions, []quotaRow{
		{"no limit anywhere", remains, "pass", "2 of 2"},
		{"a limit on some", mixed, "fail", "XR-SET"},
	})
	quotaRun(t, result.Promises(), conventions,
		[]quotaRow{{"no limit, but promised", remains, "fail", "XR-SET"}})
	quotaRun(t, nil, QuotaExpect{Stable: true}, []quotaRow{
		{"no limit to compare", remains, "needs-failed", "none of 2 answers has a limit"},
	})
	resets := quotaRecord(quotaReq(1, 0, 1, 200, "X-Ratelimit-Reset: 5"))
	quotaRun(t, nil, QuotaExpect{Stable: true}, []quotaRow{
		{"no limit", resets, "needs-failed", "none of 1 answer has a limit"},
	})
	quotaRun(t, result.Promises(), QuotaExpect{Stable: true}, []quotaRow{
		{"no limit, but promised", resets, "too-few", "no answer states a limit"},
	})
}
