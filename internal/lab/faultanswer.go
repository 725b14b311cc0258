package lab

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// retryAfterFaults are faults of the Retry-After field. These and the next ones decide rightly and answer
// wrongly.
var retryAfterFaults = []Fault{
	{Name: "retry-after-too-short", Class: "C1", Sentence: "tells clients to wait half of the needed " +
		"time, rounded down", Citation: "https://github.com/traefik/traefik/issues/8573",
		answer: onRetryAfter(func(a *answer) { a.retryAfterSeconds(int64(a.wait() / 2 / time.Second)) })},
	{Name: "retry-after-zero", Class: "C1", Sentence: "tells denied clients to come back at once",
		Citation: "https://github.com/mholt/caddy-ratelimit/issues/22",
		answer:   onRetryAfter(func(a *answer) { a.retryAfterSeconds(0) })},
	{Name: "retry-after-in-ms", Class: "C2",
		Sentence: "states the wait in milliseconds",
		Citation: "https://github.com/fastify/fastify-rate-limit/issues/301",
		answer: onRetryAfter(func(a *answer) {
			a.header["Retry-After"] = []string{strconv.FormatInt(int64((a.wait()-1)/time.Millisecond)+1, 10)}
		})},
	{Name: "retry-after-missing", Class: "C6", Promise: "retry-after", Sentence: "denies without Retry-After",
		Citation: "https://github.com/digitalocean/nginxconfig.io/issues/377",
		answer:   func(a *answer) { a.del("Retry-After") }},
	{Name: "retry-after-whole-window", Class: "C3", Sentence: "tells clients to wait a whole window, " +
		"whatever is left of it", Citation: "https://github.com/dotnet/runtime/issues/92557", fits: toldApart,
		answer: onRetryAfter(func(a *answer) { a.setRetryAfter(a.target.facts.window) })},
	{Name: "retry-after-full", Class: "C5",
		Sentence: "tells clients to wait until the whole quota is back, instead of the part that they need",
		Citation: "https://github.com/symfony/symfony/issues/40289",
		fits:     func(l spec.Limit) string { return firstOf(bitByBit(l), toldApart(l)) },
		answer:   onRetryAfter(func(a *answer) { a.setRetryAfter(max(a.wait(), a.ruling.Reset)) })},
	{Name: "retry-after-fraction", Class: "C7",
		Sentence: "states the wait with a fraction, which delay-seconds do not allow",
		Citation: "https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3",
		answer: onRetryAfter(func(a *answer) {
			a.header["Retry-After"] = []string{strconv.FormatFloat(math.Ceil(a.wait().Seconds()*2)/2+0.5, 'f',
				1, 64)}
		})},
	{Name: "retry-after-negative", Class: "C4",
		Sentence: "states the wait as a time that has passed",
		Citation: "https://github.com/alisaifee/flask-limiter/issues/62",
		answer: onRetryAfter(func(a *answer) {
			a.header["Retry-After"] = []string{strconv.FormatInt(-max(1, ceilSeconds(a.wait())), 10)}
		})},
	{Name: "retry-after-utc", Class: "C7",
		Sentence: "ends the date of Retry-After in UTC, but the grammar wants GMT",
		Citation: "https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7",
		answer: onRetryAfter(func(a *answer) {
			a.header["Retry-After"] = []string{strings.TrimSuffix(imfFixdate(ceilSeconds(a.now+a.wait())),
				"GMT") + "UTC"}
		})},
	{Name: "retry-after-skewed", Class: "C9",
		Sentence: "takes the date of Retry-After from a clock that is 30 seconds behind the clock of Date",
		Citation: "https://github.com/ioggstream/draft-polli-ratelimit-headers/pull/62",
		answer: onRetryAfter(func(a *answer) {
			a.header["Retry-After"] = []string{imfFixdate(ceilSeconds(a.now + a.wait() - 30*time.Second))}
		})},
	{Name: "retry-after-constant", Class: "C8",
		Sentence: "sends Retry-After: 5 with every answer, allowed or denied",
		Citation: "https://github.com/varnishcache/varnish-cache/blob/master/bin/varnishd/builtin.vcl",
		answer:   func(a *answer) { a.header["Retry-After"] = []string{"5"} }},
	{Name: "retry-after-twice", Class: "C7",
		Sentence: "sends Retry-After twice, with two values",
		Citation: "https://www.rfc-editor.org/rfc/rfc9110#section-5.3",
		answer: onRetryAfter(func(a *answer) {
			a.header["Retry-After"] = append(a.header["Retry-After"][:1:1], "120")
		})},
}

// onRetryAfter applies edit to denials that state a wait.
func onRetryAfter(edit func(*answer)) func(*answer) {
	return func(a *answer) {
		if a.ruling.Allow || a.ruling.RetryAfter == reference.Never || len(a.header["Retry-After"]) == 0 {
			return
		}
		edit(a)
	}
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
	{Name: "headers-only-on-denial", Class: "C12",
		Sentence: "states the quota only when it is used up",
		Citation: "https://github.com/Kong/kong/issues/4379",
		answer: func(a *answer) {
			if a.ruling.Allow {
				a.del(quotaFields...)
			}
		}},
	{Name: "headers-only-on-success", Class: "C12",
		Sentence: "does not state the quota when it denies",
		Citation: "https://github.com/appdotnet/api-spec/issues/313",
		answer: func(a *answer) {
			if !a.ruling.Allow {
				a.del(quotaFields...)
			}
		}},
	{Name: "remaining-off-by-one", Class: "C11",
		Sentence: "states what was left before the request instead of after it",
		Citation: "https://github.com/nestjs/throttler/issues/416",
		answer: func(a *answer) {
			if a.ruling.Allow {
				a.setQuota(a.ruling.Remaining+a.cost, a.reset())
			}
		}},
	{Name: "remaining-negative", Class: "C11",
		Sentence: "counts what is left below zero",
		Citation: "https://github.com/upstash/ratelimit-js/pull/98",
		answer: func(a *answer) {
			if !a.ruling.Allow {
				a.setQuota(a.ruling.Remaining-a.cost, a.reset())
			}
		}},
	{Name: "remaining-stuck", Class: "C11", Sentence: "always states that the whole quota is left",
		Citation: "https://github.com/Kong/kong/issues/11846",
		answer:   func(a *answer) { a.setQuota(a.target.facts.quota, a.reset()) }},
	{Name: "reset-as-epoch", Class: "C10",
		Sentence: "states the reset of RateLimit in seconds since 1970, but the field counts from now",
		Citation: "https://github.com/wraithgar/hapi-rate-limit/issues/18",
		answer: func(a *answer) {
			x := a.header["X-Ratelimit-Reset"]
			a.setQuota(a.ruling.Remaining, a.now+a.reset())
			if x != nil {
				a.header["X-Ratelimit-Reset"] = x
			}
		}},
	{Name: "reset-in-ms", Class: "C10",
		Sentence: "states X-RateLimit-Reset in milliseconds",
		Citation: "https://github.com/RocketChat/docs-old/pull/1358",
		answer: func(a *answer) {
			if a.target.dialect.x {
				a.header["X-Ratelimit-Reset"] = []string{strconv.FormatInt(int64((a.now+
					a.reset())/time.Millisecond), 10)}
			}
		}},
	{Name: "limit-scaled", Class: "C16",
		Sentence: "states the limit for another unit of time",
		Citation: "https://docs.apigee.com/api-platform/reference/policies/spike-arrest-policy",
		answer: func(a *answer) {
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
	{Name: "reset-hour-late", Class: "C10", Sentence: "states a reset that is an hour late, as a reset in " +
		"local time would be", Citation: "https://github.com/zalando/restful-api-guidelines/issues/379",
		answer: func(a *answer) { a.setQuota(a.ruling.Remaining, a.reset()+time.Hour) }},
	{Name: "reset-past", Class: "C10",
		Sentence: "states X-RateLimit-Reset from a clock that is an hour behind the clock of Date",
		Citation: "https://github.com/wraithgar/hapi-rate-limit/issues/18",
		answer: func(a *answer) {
			if a.target.dialect.x {
				past := ceilSeconds(a.now + a.reset() - time.Hour)
				a.header["X-Ratelimit-Reset"] = []string{strconv.FormatInt(past, 10)}
			}
		}},
	{Name: "body-wait-in-ms", Class: "C2",
		Sentence: "states the wait in milliseconds in the body, but in seconds in Retry-After",
		Citation: "https://github.com/fastify/fastify-rate-limit/issues/301",
		answer: inBody(func(a *answer) string {
			return `"retryAfter":` + strconv.FormatInt(1000*max(1, ceilSeconds(a.wait())), 10)
		})},
	{Name: "body-limit-scaled", Class: "C16",
		Sentence: "states the limit for another unit of time in the body of a denial",
		Citation: "https://docs.apigee.com/api-platform/reference/policies/spike-arrest-policy",
		answer: inBody(func(a *answer) string {
			return `"limit":` + strconv.FormatInt(a.target.facts.quota*1800, 10)
		})},
	{Name: "body-reset-hour-late", Class: "C10",
		Sentence: "states a reset that is an hour late in the body of a denial",
		Citation: "https://github.com/zalando/restful-api-guidelines/issues/379",
		answer: inBody(func(a *answer) string {
			return `"reset_at":` + strconv.FormatInt(ceilSeconds(a.now+a.reset()+time.Hour), 10)
		})},
	{Name: "policy-name-token", Class: "",
		Sentence: "names its policy with a token, but the draft wants a string",
		Citation: "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-10#section-3",
		answer: func(a *answer) {
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
	{Name: "status-503", Class: "C14", Sentence: "denies with 503, as if the service were down",
		Citation: "https://github.com/kubernetes/ingress-nginx/pull/2001",
		options:  denying(http.StatusServiceUnavailable)},
	{Name: "status-500", Class: "C14", Sentence: "denies with 500, as if the service were broken",
		Citation: "https://github.com/fleetdm/fleet/issues/10720",
		options:  denying(http.StatusInternalServerError)},
	{Name: "status-403", Class: "C14", Sentence: "denies with 403, as if the client lacked permission",
		Citation: "https://github.com/jsocol/django-ratelimit/issues/45",
		options:  denying(http.StatusForbidden)},
	{Name: "status-200", Class: "C14", Sentence: "denies with 200 and an error in the body",
		Citation: "https://github.com/stefanprodan/AspNetCoreRateLimit/issues/119",
		options:  denying(http.StatusOK)},
	{Name: "cacheable-denial", Class: "C15",
		Sentence: "lets caches keep a denial for a minute",
		Citation: "https://github.com/getsentry/sentry/pull/59443",
		answer: func(a *answer) {
			if !a.ruling.Allow {
				a.header["Cache-Control"] = []string{"public, max-age=60"}
			}
		}},
	{Name: "denial-unexplained", Class: "",
		Sentence: "denies with an empty body",
		Citation: "https://www.rfc-editor.org/rfc/rfc6585#section-4",
		answer: func(a *answer) {
			if !a.ruling.Allow {
				a.body, a.typ = "", plainType
			}
		}},
	{Name: "problem-status-differs", Class: "",
		Sentence: "states another status in the problem details than in the status line",
		Citation: "https://www.rfc-editor.org/rfc/rfc9457#section-3.1.2",
		answer: func(a *answer) {
			if !a.ruling.Allow {
				a.body = a.problem(http.StatusBadRequest)
			}
		}},
	{Name: "denial-drops", Class: "", Sentence: "closes the connection instead of sending a denial",
		Citation: "https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#return", drops: true},
	{Name: "denials-uncounted", Class: "", Sentence: "counts none of its denials in its own metrics",
		Citation: "https://github.com/apollographql/router/issues/4274", uncounted: true},
	{Name: "denial-hangs", Class: "",
		Sentence: "never answers a request that it does not admit",
		Citation: "https://docs.haproxy.org/2.8/configuration.html#4.2-http-request%20silent-drop",
		pause: func(r Ruling) time.Duration {
			if r.Allow {
				return 0
			}
			return neverAnswered
		}},
	{Name: "slow-denials", Class: "",
		Sentence: "takes 300 ms for each denial",
		Citation: "https://www.rfc-editor.org/rfc/rfc6585#section-7.2",
		pause: func(r Ruling) time.Duration {
			if r.Allow {
				return 0
			}
			return slowDenial
		}},
}

// toldApart demands a policy whose first unit and whole quota come back in different whole seconds. How long
// a window that slides makes a client wait is judged no closer than by its length.
func toldApart(l spec.Limit) string {
	for _, p := range l {
		first := time.Second // a window may end at any time
		if !p.HasWindow() {
			first = p.UntilBack(1)
		}
		if (p.Fixed() || !p.HasWindow()) && ceilSeconds(windowOf(p)) > ceilSeconds(first) {
			return ""
		}
	}
	return "it needs a bucket, or a window by the clock, of some seconds: the field has whole seconds"
}

// bitByBit demands policies whose units come back one after the other.
func bitByBit(l spec.Limit) string {
	if slices.ContainsFunc(l, spec.Policy.HasWindow) {
		return "it needs a bucket, whose units come back one after the other"
	}
	return ""
}
