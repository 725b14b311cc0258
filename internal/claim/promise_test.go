package claim

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/claim/quota"
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
		{"conventions", Expect{Quota: quota.Expect{Conventions: true}}, quotas, "quota-conventions",
			"too-few"},
		{"agrees", Expect{Quota: quota.Expect{Agree: true}}, quotas, "quota-agrees", "too-few"},
		{"stable", Expect{Quota: quota.Expect{Stable: true}}, quotas, "quota-stable", "too-few"},
		{"counts", Expect{Quota: quota.Expect{Counts: true}}, quotas, "quota-counts", "too-few"},
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
