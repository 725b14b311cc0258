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

// toldUnder judges what is told under a limit, in a recording that began at a whole second.
func toldUnder(t *testing.T, limit string, q QuotaExpect, obs ...timeline.Observation) result.Claim {
	t.Helper()
	tl := quotaRecord(obs...)
	tl.Header.Started = time.Unix(1_700_000_000, 0)
	q.Fresh = true
	c := judged(tl, quotaParse(t, limit), q)
	Sound(t, tl, c)
	return c
}

func TestToldLimitIsTheDeclaredOne(t *testing.T) {
	for _, x := range []struct{ limit, field, want, text string }{
		{slowBucket, "X-Ratelimit-Limit: 5", "pass", "5"},
		{slowBucket, "X-Ratelimit-Limit: 10", "pass", "10"}, // the rate as it is declared
		{slowBucket, "X-Ratelimit-Limit: 36000", "fail", "it is the rate in an hour, which no field says"},
		{slowBucket, "X-Ratelimit-Limit-Hour: 36000", "pass", "36000"},
		{slowBucket, "Ratelimit-Policy: \"a\";q=600;w=60", "pass", "600"},
		{slowBucket, "Ratelimit-Policy: \"a\";q=600;w=3600", "fail", "states a limit of 600"},
		{slowBucket, "Ratelimit-Policy: \"a\";q=600;w=3600, \"b\";q=5", "pass", ""},
		// another policy beside it
		{slowBucket, "X-Ratelimit-Limit: 6", "fail", "the declared limit has 5 at once and 10/s"},
		{slowBucket, "X-Ratelimit-Remaining: 6", "needs-failed", "none of 1 answer has a limit"},
		{slowBucket, "Ratelimit-Policy: 600;w=3600", "fail", "states a limit of 600"}, // by number, alone
		{"token-bucket,rate=10/s,burst=5..7", "X-Ratelimit-Limit: 6", "pass", ""},
		{"fixed-window,rate=10000/720h", "Ratelimit-Limit: 333;w=86400", "pass", ""},
		{"leaky-bucket-queue,rate=10/s,queue=20", "X-Ratelimit-Limit: 20", "pass", ""},
		{"token-bucket,rate=10/s,burst=5 + fixed-window,rate=50/1m", "X-Ratelimit-Limit: 50", "pass", ""},
	} {
		c := toldUnder(t, x.limit, QuotaExpect{Limit: true}, quotaReq(1, 0, 1, 200, x.field))
		if got, text := quotaVerdictOf(c); got != x.want || !strings.Contains(text, x.text) {
			t.Errorf("%s under %s: got %s: %s; want %s with %q", x.field, x.limit, got, text, x.want, x.text)
		}
	}
}

// TestPoliciesByNumberAreDeclared: the limit in RateLimit-Limit, or in the field of draft 07, and the
// policies listed beside it all belong to the declared limit. Each has a unit of its own.
func TestPoliciesByNumberAreDeclared(t *testing.T) {
	for _, x := range []struct{ policy, want, text string }{
		{"5;w=1", "pass", ""},
		{"10;w=1", "pass", ""},
		{"600;w=60", "pass", ""}, // the rate, in the unit that w names
		{"5", "pass", ""},
		{"5;w=1, 1000;w=3600", "pass", ""}, // another policy is listed beside it
		{"no number", "pass", ""},          // the rules for fields report this one
		{"600;w=3600", "fail",
			"states a limit of 600 in 1h0m0s (ratelimit-policy), but the declared limit has 5"},
		{"9000;w=60, 8000", "fail", "states a limit of 9000 in 60.0 s (ratelimit-policy)"},
		{"36000", "fail", "(it is the rate in an hour, which no field says)"},
	} {
		for _, limit := range [][]string{{"Ratelimit-Limit: 5", "Ratelimit-Reset: 1"},
			{"Ratelimit: limit=5, remaining=4, reset=1"}} {
			c := toldUnder(t, slowBucket, QuotaExpect{Limit: true},
				quotaReq(1, 0, 1, 200, append(limit, "Ratelimit-Policy: "+x.policy)...))
			if got, text := quotaVerdictOf(c); got != x.want || !strings.Contains(text, x.text) {
				t.Errorf("%s beside %s: got %s: %s; want %s with %q", x.policy, limit, got, text, x.want,
					x.text)
			}
			const unnamed = "which no field says"
			if _, text := quotaVerdictOf(c); strings.Contains(text, unnamed) != strings.Contains(x.text,
				unnamed) {
				t.Errorf("%s: got %s, want a unit where w names none", x.policy, text)
			}
			if len(c.Findings) > 0 && c.Findings[0].Rule != "R3-POLICY" {
				t.Errorf("%s: got rule %q, want R3-POLICY", x.policy, c.Findings[0].Rule)
			}
		}
	}
}

func TestResetsThatCanBe(t *testing.T) {
	const date = "Date: Tue, 14 Nov 2023 22:13:20 GMT" // when the recording began
	at := func(s int) string { return fmt.Sprint("X-Ratelimit-Reset: ", 1_700_000_000+s) }
	const first, clock = "fixed-window,rate=5/1m,align=first", "fixed-window,rate=5/1m" // which ends in 40 s
	for _, x := range []struct {
		name, limit string
		obs         []timeline.Observation
		want, text  string
	}{
		{"now", slowBucket, []timeline.Observation{quotaReq(1, 0, 1, 200, at(0), date)}, "pass", ""},
		{"all of it", slowBucket, []timeline.Observation{quotaReq(1, 0, 1, 200, at(1), date)}, "pass", ""},
		{"an old Date", slowBucket, []timeline.Observation{quotaReq(1, 0, 1, 200, at(3), date)}, "pass", ""},
		{"an hour late", slowBucket, []timeline.Observation{quotaReq(1, 0, 1, 200, at(3600), date)}, "fail",
			"at the latest"},
		{"an hour early", slowBucket, []timeline.Observation{quotaReq(1, 0, 1, 200, at(-3600), date)}, "fail",
			"that is past"},
		// the window ended while the target stood still, after its decision and before it wrote the Date
		{"past by less than the answer took", first, []timeline.Observation{quotaReq(1, 0, 1, 200, at(60)),
			quotaReq(2, 59_000, 66_000, 429, at(60), "Date: Tue, 14 Nov 2023 22:14:25 GMT")}, "pass", ""},
		{"past by more than the answer took", first, []timeline.Observation{quotaReq(1, 0, 1, 200, at(60)),
			quotaReq(2, 59_000, 61_000, 429, at(60), "Date: Tue, 14 Nov 2023 22:14:25 GMT")}, "fail",
			"that is past"},
		{"no Date", slowBucket, []timeline.Observation{quotaReq(1, 0, 1, 200, at(3600))}, "needs-failed",
			"no reset can be compared"},
		{"a window of its own", first, []timeline.Observation{quotaReq(1, 0, 1, 200, at(60), date)}, "pass",
			""},
		{"its middle", first, []timeline.Observation{quotaReq(1, 0, 1, 200, at(30), date)}, "pass", ""},
		// more may come before
		{"a denial that tells its end", first,
			[]timeline.Observation{quotaReq(1, 0, 1, 200), quotaReq(2, 2, 3, 429,
				at(60), date)},
			"pass", ""},
		{"a denial that tells its middle", first, []timeline.Observation{quotaReq(1, 0, 1, 200),
			quotaReq(2, 2, 3, 429, at(30), date)}, "fail", "its window ends in 59"},
		{"the next window", first,
			[]timeline.Observation{quotaReq(1, 0, 1, 200), quotaReq(2, 2, 3, 429, at(119),
				date)}, "fail",
			"its window has ended"},
		{"the clock's end", clock, []timeline.Observation{quotaReq(1, 0, 1, 429, "Ratelimit-Reset: 40")},
			"pass", ""},
		{"the clock's end, an hour of zones off", clock, []timeline.Observation{quotaReq(1, 0, 1, 429,
			"Ratelimit-Reset: 59")}, "fail", "its window has ended"},
		{"before the clock's end", clock,
			[]timeline.Observation{quotaReq(1, 0, 1, 429, "Ratelimit-Reset: 20")},
			"fail",
			"its window ends in 39"},
	} {
		c := toldUnder(t, x.limit, QuotaExpect{Reset: true}, x.obs...)
		if got, text := quotaVerdictOf(c); got != x.want || !strings.Contains(text, x.text) {
			t.Errorf("%s: got %s: %s; want %s with %q", x.name, got, text, x.want, x.text)
		}
	}
}

// TestResetsOfPoliciesThatAreNotDeclared: an answer may tell of policies beside the declared one, which have
// windows of their own. For the declared policy it tells only what is possible.
func TestResetsOfPoliciesThatAreNotDeclared(t *testing.T) {
	state := func(second, day int) []string {
		return []string{`Ratelimit-Policy: "s";q=5;w=1, "d";q=1000;w=86400`,
			fmt.Sprintf(`Ratelimit: "d";r=999;t=%d, "s";r=4;t=%d`, day, second)}
	}
	kong := []string{"X-Ratelimit-Limit: 5", "X-Ratelimit-Reset: 1", "X-Ratelimit-Limit-Day: 1000",
		"X-Ratelimit-Reset-Day: 86000"}
	const second = "fixed-window,rate=5/1s,align=first"
	for _, x := range []struct {
		name, limit string
		fields      []string
		want        string
	}{
		{"a day beside the second", second, state(1, 86000), "pass"},
		{"a day beside the second, by name", second, kong, "pass"},
		{"the second itself, late", second, state(60, 86000), "fail"},
		{"both declared", second + " + fixed-window,rate=1000/24h,align=first", state(1, 86000), "pass"},
		{"one that tells no limit", second, []string{`Ratelimit: "s";r=4;t=60`}, "fail"},
	} {
		c := toldUnder(t, x.limit, QuotaExpect{Reset: true}, quotaReq(1, 0, 1, 200, x.fields...))
		if got, text := quotaVerdictOf(c); got != x.want {
			t.Errorf("%s: got %s: %s; want %s", x.name, got, text, x.want)
		}
	}
}

func TestBodiesTellWhatFieldsTell(t *testing.T) {
	for _, x := range []struct{ body, want, text string }{
		{`{"retry_after":2,"limit":5,"status":429}`, "pass", "bodies of 1 denial"},
		{`{"retryAfter":1.2}`, "pass", ""},
		{`{"retryAfter":1.2} 7`, "pass", ""}, // what follows the object is no member of it
		{`{"retryAfter":"2"}`, "pass", ""},
		{`{"error":{"retry-after":2000}}`, "fail", "the body counts milliseconds, the field counts seconds"},
		{`{"retry_after":1700000002}`, "pass", ""}, // an instant is no wait
		{`{"retry_after":60}`, "fail", "its body says retry_after: 60, but its field Retry-After: 2"},
		{`{"retry_after_ms":2000}`, "pass", "bodies of 1 denial"},
		{`{"retry_after_ms":60000}`, "fail", "its body says retry_after_ms: 60000"},
		{`{"retry_every_ms":2000}`, "needs-failed", "no denial states"},
		{`{"limit":36000}`, "fail", "its body says limit: 36000, but its fields state a limit of 5"},
		{`{"status":503}`, "fail", "its status is 429"},
		{`{"status":"error"}`, "pass", ""},
		{`{"reset_at":"2023-11-14T22:13:21Z"}`, "pass", ""},
		{`{"reset_at":1700000001000}`, "pass", ""}, // an instant is right in any unit
		{`{"resetAt":"2023-11-14T23:13:21Z"}`, "fail", "which is 3601.000 s from its Date"},
		{`{"retry_after":60,"of":[{"retry_after":2}]}`, "needs-failed", ""}, // two values that differ say nothing
		{`{"retry_after":60,"message":"and then it is cut of`, "fail", "60"},
		{`{"of":[1,{"limit":5},"limit",9]}`, "pass", "bodies of 1 denial"},
		{`<p>retry_after: 60</p>`, "needs-failed", "no denial states"},
	} {
		o := quotaReq(1, 0, 1, 429, "Retry-After: 2", "X-Ratelimit-Limit: 5", "Date: Tue, 14 Nov 2023 "+
			"22:13:20 GMT")
		o.Body = x.body
		c := toldUnder(t, slowBucket, QuotaExpect{Body: true}, o)
		if got, text := quotaVerdictOf(c); got != x.want || !strings.Contains(text, x.text) {
			t.Errorf("%s: got %s: %s; want %s with %q", x.body, got, text, x.want, x.text)
		}
	}
}

// TestAWaitThatABodyTellsAlone: without Retry-After, a wait in the body is compared with the limit, which
// needs 2 s at most, and with the denials that follow.
func TestAWaitThatABodyTellsAlone(t *testing.T) {
	longest := func(*timeline.Timeline, spec.Limit, bool) map[int]time.Duration {
		return map[int]time.Duration{1: 2 * time.Second}
	}
	again := func(sent, status int) timeline.Observation { return quotaReq(2, sent, sent+1, status) }
	for _, x := range []struct {
		body, limit string
		then        []timeline.Observation
		want, text  string
	}{
		{`{"retry_after":2}`, slowBucket, nil, "pass", ""},
		{`{"retry_after":60}`, slowBucket, nil, "pass", ""}, // it may be milliseconds
		{`{"retry_after":60}`, slowBucket, []timeline.Observation{again(50, 429)}, "pass", ""},
		{`{"retry_after":60}`, slowBucket, []timeline.Observation{again(100, 429)}, "fail",
			"its body says retry_after: 60, and at most 2.000 s could be needed"},
		{`{"retryAfterSeconds":60}`, slowBucket, nil, "fail", "at most 2.000 s could be needed"},
		{`{"retry_after":1}`, slowBucket, []timeline.Observation{again(1500, 429)}, "fail",
			"no Retry-After says more, but #2 was denied 1.499 s later, with no admission in between"},
		{`{"retry_after":2}`, slowBucket, []timeline.Observation{again(1500, 429)}, "pass", ""},
		{`{"retry_after":1}`, slowBucket,
			[]timeline.Observation{quotaReq(2, 1100, 1101, 200), quotaReq(3, 1500, 1501, 429)}, "pass", ""},
		{`{"retry_after":1}`, slowBucket, []timeline.Observation{quotaReq(2, 1100, 0, 0), quotaReq(3, 1500,
			1501, 429)},
			"pass", ""}, // what was not answered may be admitted
		{`{"retry_after":1}`, slowBucket + ",ban=5s", []timeline.Observation{again(1500, 429)}, "pass", ""},
		{`{"retry_after":0}`, slowBucket, []timeline.Observation{again(50, 429)}, "pass", ""},
	} {
		o := quotaReq(1, 0, 1, 429)
		o.Body = x.body
		tl := quotaRecord(append([]timeline.Observation{o}, x.then...)...)
		e := Expect{Quota: QuotaExpect{Body: true, Fresh: true}}
		c := judge(tl, quotaParse(t, x.limit), e, longest)[0]
		Sound(t, tl, c)
		if got, text := quotaVerdictOf(c); got != x.want || !strings.Contains(text, x.text) {
			t.Errorf("%s: got %s: %s; want %s with %q", x.body, got, text, x.want, x.text)
		}
	}
}
