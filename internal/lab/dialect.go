package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/wrong"
)

// Dialect names a group of header fields that state a client's quota.
type Dialect string

// The dialects. None stands alone.
const (
	// XRateLimit is X-RateLimit-Limit, -Remaining and -Reset. Reset is in seconds since the Unix epoch,
	// rounded up.
	XRateLimit Dialect = "x-ratelimit"
	// XRateLimitDelta is the same, with Reset in seconds from now.
	XRateLimitDelta Dialect = "x-ratelimit-delta"
	// RateLimitDraft is RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers, which
	// revisions -10 and -11 write alike. t is the time after which the client may count on more: after a
	// denial that of the next admission, otherwise that of a full quota.
	RateLimitDraft Dialect = "ratelimit-draft"
	// RateLimitLegacy is RateLimit-Limit, -Remaining and -Reset of the drafts up to -06. Reset is in seconds
	// from now.
	RateLimitLegacy Dialect = "ratelimit-legacy"
	// OpenAI is X-RateLimit-Limit-Requests, -Tokens and kin, for each policy by what it counts. Reset is a
	// duration of Go, until the budget is whole again.
	OpenAI Dialect = "openai"
	// Anthropic is Anthropic-RateLimit-Requests-Limit, -Tokens-Limit and kin. Reset is a time of RFC 3339.
	Anthropic Dialect = "anthropic"
	// RetryAfterMS is Retry-After-Ms on denials, in milliseconds.
	RetryAfterMS Dialect = "retry-after-ms"
	// RetryAfterField is Retry-After on denials (RFC 9110 section 10.2.3).
	RetryAfterField Dialect = "retry-after"
	// None carries no field at all.
	None Dialect = "none"
)

// The forms of Retry-After.
const (
	RetryAfterSeconds = "seconds"
	RetryAfterDate    = "date"
)

// dialects are all dialects.
var dialects = []Dialect{XRateLimit, XRateLimitDelta, RateLimitDraft, RateLimitLegacy, OpenAI, Anthropic,
	RetryAfterField, RetryAfterMS, None}

// checkDialects refuses unknown dialects, and those that exclude each other.
func checkDialects(ds []Dialect) error {
	for _, d := range ds {
		if !slices.Contains(dialects, d) {
			names := text.Words(dialects)
			near := cmp.Or(text.Suggest(string(d), names), "write one of them")
			return fmt.Errorf("target: unknown dialect %q: the dialects are %s (%s)", d,
				strings.Join(names, ", "), near)
		}
	}
	switch {
	case slices.Contains(ds, None) && len(ds) > 1:
		return fmt.Errorf("target: dialect %q: it stands alone", None)
	case slices.Contains(ds, XRateLimit) && slices.Contains(ds, XRateLimitDelta):
		return fmt.Errorf("target: dialects %q and %q: they write the same fields", XRateLimit,
			XRateLimitDelta)
	}
	return nil
}

// speaks tells whether answers have the fields of a dialect.
func (t *Target) speaks(d Dialect) bool { return slices.Contains(t.opts.Dialect, d) }

// facts is what answers say of the declared limit, ready for header fields.
type facts struct {
	// quota is the most units that a full start admits at once: the least of all policies.
	quota int64
	// window is the time in which a used up quota comes back.
	window time.Duration
	// name is the draft's name of the policy with that quota.
	name string
	// limit and policy are the values of X-RateLimit-Limit and RateLimit-Policy.
	limit, policy []string
	// item is the beginning of RateLimit's value: the name, quoted.
	item string
	// hold is how long an admitted request is served before it is answered.
	hold time.Duration
}

// factsOf describes limit. A policy is stated as its quota q and its window w. q is the most units that a
// full start admits at once. w is the time in which a used up quota comes back. For a window they are Rate.N
// and Rate.Per, for a bucket Burst and Burst*Per/N.
//
// The draft's w is a whole number of seconds greater than 0. If the window is none, w is left out, since it
// is optional and a rounded window would promise another rate. One policy is named "default", several are
// named "policy-1" and so on.
func factsOf(limit spec.Limit) facts {
	f := facts{}
	told := tightest(limit)
	items := make([]string, len(limit))
	for i, p := range limit {
		name := "default"
		if len(limit) > 1 {
			name = "policy-" + strconv.Itoa(i+1)
		}
		if i == told {
			f.quota, f.window, f.name = p.Full(), wrong.WindowOf(p), name
		}
		items[i] = strconv.Quote(name) + ";q=" + strconv.FormatInt(p.Full(), 10)
		if w := wrong.WindowOf(p); w >= time.Second && w%time.Second == 0 {
			items[i] += ";w=" + strconv.FormatInt(int64(w/time.Second), 10)
		}
	}
	for _, p := range limit {
		if p.Completes() {
			f.hold = max(f.hold, p.HoldLeast)
		}
	}
	f.limit = []string{strconv.FormatInt(f.quota, 10)}
	f.policy = []string{strings.Join(items, ", ")}
	f.item = strconv.Quote(f.name)
	return f
}

// tightest returns the index of the first policy with the smallest quota. Fields of one policy are about it.
func tightest(limit spec.Limit) (best int) {
	for i, p := range limit {
		if p.Full() < limit[best].Full() {
			best = i
		}
	}
	return best
}

// ceilSeconds returns d in whole seconds, rounded up, or 0 for a negative d.
func ceilSeconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Second) + 1
}
