package claim

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// bare is a recording of a right limiter that sends no field but Date.
func bare() *timeline.Timeline {
	return record(req(1, 0, 1, 200, someDate), req(2, 2, 3, 429, someDate), req(3, 5000, 5001, 200, someDate))
}

// unpromising is an Expect of a target that promised nothing.
func unpromising(e Expect) Expect {
	e.Promised = []verdict.Promise{}
	return e
}

func TestWhatIsNeverSentFailsOnlyWherePromised(t *testing.T) {
	const waits, quotas = verdict.PromiseRetryAfter, verdict.PromiseRateLimit
	fields := func(g FieldGroup) Expect { return Expect{Fields: []FieldGroup{g}} }
	for _, x := range []struct {
		name    string
		expect  Expect
		promise verdict.Promise
		id      string
		// promised is the verdict where it is promised.
		promised string
	}{
		{"Retry-After", fields(RetryAfterField), waits, "fields-retry-after", "fail"},
		{"quota", fields(RateLimitFields), quotas, "fields-ratelimit", "fail"},
		{"problem", fields(ProblemBody), verdict.PromiseProblem, "fields-problem", "fail"},
		{"waits", Expect{RetryAfter: RetryAfterExpect{Honored: true}}, waits, honoredID, "too-few"},
		{"conventions", Expect{Quota: QuotaExpect{Conventions: true}}, quotas, "quota-conventions",
			"too-few"},
		{"agrees", Expect{Quota: QuotaExpect{Agree: true}}, quotas, "quota-agrees", "too-few"},
		{"stable", Expect{Quota: QuotaExpect{Stable: true}}, quotas, "quota-stable", "too-few"},
		{"counts", Expect{Quota: QuotaExpect{Counts: true}}, quotas, "quota-counts", "too-few"},
	} {
		run(t, unpromising(x.expect), []row{{x.name + ", not promised", bare(), "needs-failed", "none of "}})
		if c := one(t, bare(), unpromising(x.expect)); c.Unpromised != x.promise || c.ID != x.id {
			t.Errorf("%s: got %+v, want %s without %q", x.name, c, x.id, x.promise)
		}
		x.expect.Promised = []verdict.Promise{x.promise}
		run(t, x.expect, []row{{x.name + ", promised", bare(), x.promised, ""}})
	}
}

func TestAWaitThatIsNeverToldIsNotTooLong(t *testing.T) {
	limit := parse(t, "token-bucket,rate=1/s,burst=1")
	e := unpromising(Expect{RetryAfter: RetryAfterExpect{NotLonger: true}})
	if c := judge(bare(), limit, e, noWaits)[0]; c.Unpromised != verdict.PromiseRetryAfter {
		t.Errorf("got %+v, want needs-failed without %q", c, verdict.PromiseRetryAfter)
	}
	e.Promised = verdict.Promises()
	if c := judge(bare(), limit, e, noWaits)[0]; c.Reason != verdict.TooFew {
		t.Errorf("promised: got %+v, want too-few", c)
	}
}

// TestWhatIsSentIsHeldToItsRules: who sends a field once, or a broken one, is asked for it everywhere.
func TestWhatIsSentIsHeldToItsRules(t *testing.T) {
	const wait = "Retry-After: 1"
	denied := req(2, 2, 3, 429, someDate)
	run(t, unpromising(Expect{Fields: []FieldGroup{RetryAfterField}}), []row{
		{"on some denials", record(req(1, 0, 1, 429, wait), denied), "fail", "1 of 2 denials lack"},
		{"broken on all", record(req(1, 0, 1, 429, "Retry-After: soon")), "fail", "RA-SYNTAX"},
		{"on admissions only", record(req(1, 0, 1, 200, wait), denied), "fail", "1 of 1 denial lack"},
		{"nobody was denied", record(req(1, 0, 1, 200, someDate)), "too-few", "no denial"},
		{"no fields were kept", record(req(1, 0, 1, 200), req(2, 2, 3, 429)), "too-few", "no header fields"},
	})
	limit := req(2, 2, 3, 429, "X-Ratelimit-Limit: 5")
	run(t, unpromising(Expect{Fields: []FieldGroup{RateLimitFields}}), []row{
		{"on denials only", record(req(1, 0, 1, 200, someDate), limit), "fail", "1 of 2 answers"},
		{"broken on all", record(req(1, 0, 1, 200, "X-Ratelimit-Limit: many")), "fail", "XR-SET"},
	})
	run(t, unpromising(Expect{Fields: []FieldGroup{DateField}}), []row{
		{"a standard asks for it", record(req(1, 0, 1, 200, "Server: x")), "fail", "1 of 1 answer lack Date"},
	})
}

// TestPartOfAQuotaMayBeLeftOut: an answer that tells the limit need not tell what remains.
func TestPartOfAQuotaMayBeLeftOut(t *testing.T) {
	limits := record(req(1, 0, 1, 200, "X-Ratelimit-Limit: 5"), req(2, 2, 3, 200, "X-Ratelimit-Limit: 5"))
	left := record(req(1, 0, 1, 200, "X-Ratelimit-Remaining: many"), req(2, 2, 3, 200, someDate))
	run(t, unpromising(Expect{Quota: QuotaExpect{Counts: true}}), []row{
		{"no remaining units", limits, "needs-failed", "none of 2 answers has what remains of the quota"},
		{"remaining units that cannot be read", left, "too-few", ""},
	})
	const alone, beside = "X-Ratelimit-Remaining: 5", "X-Ratelimit-Limit: 9"
	remains := record(req(1, 0, 1, 200, alone), req(2, 2, 3, 200, "X-Ratelimit-Remaining: 4"))
	mixed := record(req(1, 0, 1, 200, alone, beside), req(2, 2, 3, 200, "X-Ratelimit-Remaining: 4"))
	conventions := Expect{Quota: QuotaExpect{Conventions: true}}
	run(t, unpromising(conventions), []row{
		{"no limit anywhere", remains, "pass", "2 of 2"},
		{"a limit on some", mixed, "fail", "XR-SET"},
	})
	run(t, conventions, []row{{"no limit, but promised", remains, "fail", "XR-SET"}})
	run(t, unpromising(Expect{Quota: QuotaExpect{Stable: true}}), []row{
		{"no limit to compare", remains, "needs-failed", "none of 2 answers has a limit"},
	})
	resets := record(req(1, 0, 1, 200, "X-Ratelimit-Reset: 5"))
	run(t, unpromising(Expect{Quota: QuotaExpect{Stable: true}}), []row{
		{"no limit", resets, "needs-failed", "none of 1 answer has a limit"},
	})
	run(t, Expect{Quota: QuotaExpect{Stable: true}}, []row{
		{"no limit, but promised", resets, "too-few", "no answer tells a limit"},
	})
}
