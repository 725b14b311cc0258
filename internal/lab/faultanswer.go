package lab

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/wrong"
)

// retryAfterFaults are faults of the Retry-After field. These and the next ones decide rightly and answer
// wrongly.
var retryAfterFaults = []Fault{
	{Name: "retry-after-too-short",
		answer: onRetryAfter(func(a *answer) { a.retryAfterSeconds(int64(a.wait() / 2 / time.Second)) })},
	{Name: "retry-after-zero", answer: onRetryAfter(func(a *answer) { a.retryAfterSeconds(0) })},
	{Name: "retry-after-in-ms", answer: onRetryAfter(func(a *answer) {
		a.header["Retry-After"] = []string{strconv.FormatInt(int64((a.wait()-1)/time.Millisecond)+1, 10)}
	})},
	{Name: "retry-after-missing", Promise: "retry-after", answer: func(a *answer) { a.del("Retry-After") }},
	{Name: "retry-after-whole-window",
		fits:   func(l spec.Limit) string { i := tightest(l); return toldApart(l[i : i+1]) },
		answer: onRetryAfter(func(a *answer) { a.setRetryAfter(a.target.facts.window) })},
	{Name: "retry-after-full",
		fits:   wrong.All(bitByBit, toldApart),
		answer: onRetryAfter(func(a *answer) { a.setRetryAfter(max(a.wait(), a.ruling.Reset)) })},
	{Name: "retry-after-fraction", answer: onRetryAfter(func(a *answer) {
		a.header["Retry-After"] = []string{strconv.FormatFloat(math.Ceil(a.wait().Seconds()*2)/2+0.5, 'f',
			1, 64)}
	})},
	{Name: "retry-after-negative", answer: onRetryAfter(func(a *answer) {
		a.header["Retry-After"] = []string{strconv.FormatInt(-max(1, ceilSeconds(a.wait())), 10)}
	})},
	{Name: "retry-after-utc", answer: onRetryAfter(func(a *answer) {
		a.header["Retry-After"] = []string{strings.TrimSuffix(imfFixdate(ceilSeconds(a.now+a.wait())),
			"GMT") + "UTC"}
	})},
	{Name: "retry-after-skewed", answer: onRetryAfter(func(a *answer) {
		a.header["Retry-After"] = []string{imfFixdate(ceilSeconds(a.now + a.wait() - 30*time.Second))}
	})},
	{Name: "retry-after-constant", fits: notFiveSeconds,
		answer: func(a *answer) { a.header["Retry-After"] = []string{"5"} }},
	{Name: "retry-after-twice", answer: onRetryAfter(func(a *answer) {
		a.header["Retry-After"] = append(a.header["Retry-After"][:1:1], "120")
	})},
}

// onRetryAfter applies edit to denials that state a wait.
func onRetryAfter(edit func(*answer)) func(*answer) {
	return onDenial(func(a *answer) {
		if a.ruling.RetryAfter != reference.Never && len(a.header["Retry-After"]) > 0 {
			edit(a)
		}
	})
}

// retryAfterSeconds sets Retry-After to a number of seconds in the form of the target, unchecked.
func (a *answer) retryAfterSeconds(n int64) {
	if a.target.opts.RetryAfter == RetryAfterDate {
		a.header["Retry-After"] = []string{imfFixdate(int64(a.now/time.Second) + n)}
		return
	}
	a.header["Retry-After"] = []string{strconv.FormatInt(n, 10)}
}

// quotaFieldFaults are faults of the fields that state the quota.
var quotaFieldFaults = []Fault{
	{Name: "headers-only-on-denial", answer: func(a *answer) {
		if a.ruling.Allow {
			a.del(quotaFields...)
		}
	}},
	{Name: "headers-only-on-success", answer: onDenial(func(a *answer) { a.del(quotaFields...) })},
	{Name: "remaining-off-by-one", answer: func(a *answer) {
		if a.ruling.Allow {
			a.setQuota(a.ruling.Remaining+a.cost, a.reset())
		}
	}},
	{Name: "remaining-negative",
		answer: onDenial(func(a *answer) { a.setQuota(a.ruling.Remaining-a.cost, a.reset()) })},
	{Name: "denial-tells-other-limit", fits: wrong.QuotaTwo,
		answer: onDenial(func(a *answer) { a.setQuota((a.target.facts.quota+1)/2, a.reset()) })},
	{Name: "remaining-stuck", answer: func(a *answer) { a.setQuota(a.target.facts.quota, a.reset()) }},
	{Name: "reset-as-epoch", answer: func(a *answer) {
		x := a.header["X-Ratelimit-Reset"]
		a.setQuota(a.ruling.Remaining, a.now+a.reset())
		if x != nil {
			a.header["X-Ratelimit-Reset"] = x
		}
	}},
	{Name: "reset-in-ms", answer: func(a *answer) {
		if a.target.speaks(XRateLimit) {
			a.header["X-Ratelimit-Reset"] = []string{strconv.FormatInt(int64((a.now+
				a.reset())/time.Millisecond), 10)}
		}
	}},
	{Name: "limit-scaled", answer: func(a *answer) {
		right := "q=" + a.target.facts.limit[0]
		scaled := strconv.FormatInt(a.target.facts.quota*1800, 10)
		for _, name := range []string{"X-Ratelimit-Limit", "Ratelimit-Limit"} {
			if len(a.header[name]) > 0 {
				a.header[name] = []string{scaled}
			}
		}
		if v := a.header["Ratelimit-Policy"]; len(v) > 0 {
			a.header["Ratelimit-Policy"] = []string{strings.ReplaceAll(v[0], right, "q="+scaled)}
		}
	}},
	{Name: "reset-hour-late", fits: hourApart,
		answer: func(a *answer) { a.setQuota(a.ruling.Remaining, a.reset()+time.Hour) }},
	{Name: "reset-past", answer: func(a *answer) {
		if a.target.speaks(XRateLimit) {
			past := ceilSeconds(a.now + a.reset() - time.Hour)
			a.header["X-Ratelimit-Reset"] = []string{strconv.FormatInt(past, 10)}
		}
	}},
	{Name: "body-wait-in-ms", answer: inBody(func(a *answer) string {
		return `"retryAfter":` + strconv.FormatInt(1000*max(1, ceilSeconds(a.wait())), 10)
	})},
	{Name: "body-limit-scaled", answer: inBody(func(a *answer) string {
		return `"limit":` + strconv.FormatInt(a.target.facts.quota*1800, 10)
	})},
	{Name: "body-reset-hour-late", fits: hourApart, answer: inBody(func(a *answer) string {
		return `"reset_at":` + strconv.FormatInt(ceilSeconds(a.now+a.reset()+time.Hour), 10)
	})},
	{Name: "policy-name-token", answer: func(a *answer) {
		for _, name := range []string{"Ratelimit", "Ratelimit-Policy"} {
			if v := a.header[name]; len(v) > 0 {
				a.header[name] = []string{strings.ReplaceAll(v[0], `"`, "")}
			}
		}
	}},
}

// inBody puts a member into the JSON body of denials that state a wait. It replaces a member of that name.
func inBody(member func(*answer) string) func(*answer) {
	return func(a *answer) {
		if a.ruling.Allow || a.ruling.RetryAfter == reference.Never {
			return
		}
		if !strings.HasPrefix(a.body, "{") {
			a.body, a.typ = a.problem(a.status), problemType
		}
		if a.target.opts.DenyBody == DenyJSON {
			a.body, a.typ = `{"error":{"code":"rate_limited",`+member(a)+"}}\n", jsonType
			return
		}
		a.body = "{" + member(a) + "," + strings.TrimPrefix(a.body, "{")
	}
}

// slowDenial is how long the fault slow-denials holds back a denial.
const slowDenial = 300 * time.Millisecond

// neverAnswered is how long the fault denial-hangs holds back a denial: longer than any client waits.
const neverAnswered = 24 * time.Hour

// denying returns the options hook that denies with a status.
func denying(status int) func(*Options) { return func(o *Options) { o.DenyStatus = status } }

// denialFaults are faults of the denial as a message.
var denialFaults = []Fault{
	{Name: "status-503", options: denying(http.StatusServiceUnavailable)},
	{Name: "status-500", options: denying(http.StatusInternalServerError)},
	{Name: "status-403", options: denying(http.StatusForbidden)},
	{Name: "status-200", options: denying(http.StatusOK)},
	{Name: "cacheable-denial",
		answer: onDenial(func(a *answer) { a.header["Cache-Control"] = []string{"public, max-age=60"} })},
	{Name: "denial-unexplained", answer: onDenial(func(a *answer) { a.body, a.typ = "", plainType })},
	{Name: "problem-status-differs",
		answer: onDenial(func(a *answer) { a.body = a.problem(http.StatusBadRequest) })},
	{Name: "denial-drops", sending: sending{drops: true}},
	{Name: "denials-uncounted", sending: sending{uncounted: true}},
	{Name: "denial-hangs", pause: held(false, neverAnswered)},
	{Name: "slow-denials", pause: held(false, slowDenial)},
}

// onDenial applies edit to denials.
func onDenial(edit func(*answer)) func(*answer) {
	return func(a *answer) {
		if !a.ruling.Allow {
			edit(a)
		}
	}
}

// held returns the hook that holds back admissions, or denials, for d.
func held(admissions bool, d time.Duration) func(Ruling) time.Duration {
	return func(r Ruling) time.Duration {
		if r.Allow == admissions {
			return d
		}
		return 0
	}
}

// hourApart demands that no other policy takes about an hour: a reset may be about any of them.
func hourApart(l spec.Limit) string {
	for i, p := range l {
		if i != tightest(l) && wrong.WindowOf(p) >= 59*time.Minute {
			return "it needs other policies that are back within an hour, as a reset may be theirs"
		}
	}
	return ""
}

// notFiveSeconds demands policies that do not ban for as long as the constant tells.
var notFiveSeconds = wrong.Never(func(p spec.Policy) bool { return ceilSeconds(p.Ban) == 5 },
	"the limit declares a ban of 5 s, which is what the fault tells")

// toldApart demands a policy whose first unit and whole quota surely come back in different whole seconds.
// How long a window that slides makes a client wait is judged no closer than by its length.
var toldApart = wrong.Some(func(p spec.Policy) bool {
	first := time.Second // a window may end at any time
	if !p.HasWindow() {
		first = p.UntilBack(1) + time.Millisecond
	}
	first = max(first, p.LongestBan()) + p.Tick
	return (p.Fixed() || !p.HasWindow()) && ceilSeconds(wrong.WindowOf(p)) > ceilSeconds(first)
}, "it needs a bucket, or a window by the clock, of some seconds: the field has whole seconds")

// bitByBit demands policies whose units come back one after the other.
var bitByBit = wrong.Never(spec.Policy.HasWindow,
	"it needs a bucket, whose units come back one after the other")
