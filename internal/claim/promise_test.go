package claim

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// bare is a recording of a right limiter that sends no field but Date.
func bare() *timeline.Timeline {
	return record(req(1, 0, 1, 200, someDate), req(2, 2, 3, 429, someDate), req(3, 5000, 5001, 200, someDate))
}

// unpromising is e for a target that promised nothing.
func unpromising(e Expect) Expect {
	e.Promised = []result.Promise{}
	return e
}

func TestWhatIsNeverSentFailsOnlyWherePromised(t *testing.T) {
	const waits, quotas = result.PromiseRetryAfter, result.PromiseRateLimit
	of := func(g Group) Expect { return Expect{Fields: []Group{g}} }
	for _, x := range []struct {
		name    string
		expect  Expect
		promise result.Promise
		id      string
		// promised is the verdict for a target that promised the field.
		promised string
	}{
		{"Retry-After", of(RetryAfter), waits, "fields-retry-after", "fail"},
		{"quota", of(RateLimit), quotas, "fields-ratelimit", "fail"},
		{"problem", of(ProblemBody), result.PromiseProblem, "fields-problem", "fail"},
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
		x.expect.Promised = []result.Promise{x.promise}
		run(t, x.expect, []row{{x.name + ", promised", bare(), x.promised, ""}})
	}
}

func TestAWaitThatIsNeverToldIsNotTooLong(t *testing.T) {
	limit := parse(t, "token-bucket,rate=1/s,burst=1")
	e := unpromising(Expect{RetryAfter: RetryAfterExpect{NotLonger: true}})
	if c := judge(bare(), limit, e, noWaits)[0]; c.Unpromised != result.PromiseRetryAfter {
		t.Errorf("got %+v, want needs-failed without %q", c, result.PromiseRetryAfter)
	}
	e.Promised = result.Promises()
	if c := judge(bare(), limit, e, noWaits)[0]; c.Reason != result.TooFew {
		t.Errorf("promised: got %+v, want too-few", c)
	}
}
