package lab

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/wrong"
)

// answer is one answer before it is written. render fills in status, header and body. A fault may then edit
// them.
type answer struct {
	target *Target
	ruling Ruling
	cost   int64
	// now is the limiter's time from which the relative times of the answer count.
	now    time.Duration
	status int
	header http.Header
	body   string
	typ    []string
}

// Values that never change. All answers share the slices and never write to them.
var (
	plainType   = []string{"text/plain; charset=utf-8"}
	problemType = []string{"application/problem+json"}
	jsonType    = []string{"application/json"}
	noStore     = []string{"no-store"}
	okLength    = []string{strconv.Itoa(len(okBody))}
)

const okBody = "allowed\n"

// render fills the answer to a ruling, as a right target gives it.
func (a *answer) render() {
	a.header["Date"] = a.target.dates.at(a.now)
	a.body, a.typ = okBody, plainType
	if !a.ruling.Allow {
		a.status = a.target.opts.DenyStatus
		a.body, a.typ = a.denial()
		a.header["Cache-Control"] = noStore
		if a.target.speaks(RetryAfterField) && a.ruling.RetryAfter != reference.Never {
			a.setRetryAfter(a.wait())
		}
		if a.target.speaks(RetryAfterMS) && a.ruling.RetryAfter != reference.Never {
			a.header["Retry-After-Ms"] = []string{strconv.FormatInt(max(1, ceilMS(a.wait())), 10)}
		}
	}
	a.setQuota(a.ruling.Remaining, a.reset())
	a.setBudgets()
}

// wait returns how long a denied client must wait from now on, exactly.
func (a *answer) wait() time.Duration { return a.ruling.RetryAfter - (a.now - a.ruling.At) }

// reset returns the time from now that the fields announce. After a denial, it is the time until a request of
// this cost would be admitted (the draft wants Retry-After not to be earlier than t). Otherwise it is the
// time until the partition is as good as new, but at most a window (t is at most w): a sliding counter
// forgets after two.
func (a *answer) reset() time.Duration {
	if !a.ruling.Allow && a.ruling.RetryAfter != reference.Never {
		return max(0, a.wait())
	}
	return max(0, min(a.ruling.Reset-(a.now-a.ruling.At), a.target.facts.window))
}

// setRetryAfter sets Retry-After to a wait of d from now, rounded up to whole seconds. It is at least 1, so
// that it is never 0 while the client is still denied. As a date, it is the first whole second that is not
// earlier.
func (a *answer) setRetryAfter(d time.Duration) {
	if a.target.opts.RetryAfter == RetryAfterDate {
		a.header["Retry-After"] = []string{imfFixdate(ceilSeconds(max(a.now+d, a.now+1)))}
		return
	}
	a.header["Retry-After"] = []string{strconv.FormatInt(max(1, ceilSeconds(d)), 10)}
}

// setQuota sets the fields of the dialects: the units left, and the time from now at which they are back.
func (a *answer) setQuota(remaining int64, reset time.Duration) {
	t, left := a.target, strconv.FormatInt(remaining, 10)
	seconds := strconv.FormatInt(ceilSeconds(reset), 10)
	if t.speaks(XRateLimit) || t.speaks(XRateLimitDelta) {
		a.header["X-Ratelimit-Limit"] = t.facts.limit
		a.header["X-Ratelimit-Remaining"] = []string{left}
		a.header["X-Ratelimit-Reset"] = []string{seconds}
	}
	if t.speaks(XRateLimit) {
		a.header["X-Ratelimit-Reset"] = []string{strconv.FormatInt(ceilSeconds(a.now+reset), 10)}
	}
	if t.speaks(RateLimitLegacy) {
		a.header["Ratelimit-Limit"] = t.facts.limit
		a.header["Ratelimit-Remaining"] = []string{left}
		a.header["Ratelimit-Reset"] = []string{seconds}
	}
	if t.speaks(RateLimitDraft) {
		a.header["Ratelimit-Policy"] = t.facts.policy
		a.header["Ratelimit"] = []string{t.facts.item + ";r=" + left + ";t=" + seconds}
	}
}

// del removes header fields by canonical name.
func (a *answer) del(names ...string) {
	for _, name := range names {
		delete(a.header, name)
	}
}

// quotaFields are the canonical names of all fields that setQuota sets.
var quotaFields = []string{
	"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
	"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset", "Ratelimit-Policy", "Ratelimit",
}

// write sends the answer, without its body if the request is HEAD.
func (a *answer) write(w http.ResponseWriter, r *http.Request) {
	a.header["Content-Type"] = a.typ
	if a.body == okBody {
		a.header["Content-Length"] = okLength
	} else {
		a.header["Content-Length"] = []string{strconv.Itoa(len(a.body))}
	}
	w.WriteHeader(a.status)
	if t := a.target; t != nil && t.fault.slow && a.ruling.Allow {
		// A client that left makes this fail, and the wait end.
		_ = http.NewResponseController(w).Flush()
		t.clock.SleepUntil(r.Context(), a.now+serviceTime)
	}
	if r.Method != http.MethodHead {
		// A client that left makes this fail; there is nobody to tell.
		_, _ = w.Write([]byte(a.body))
	}
}

// writePlain answers with a line of text and no quota fields.
func writePlain(w http.ResponseWriter, r *http.Request, status int, text string) {
	a := answer{status: status, header: w.Header(), body: text, typ: plainType}
	a.header["Cache-Control"] = noStore
	a.write(w, r)
}

// imfFixdate returns the IMF-fixdate (RFC 9110 section 5.6.7) of a second since the Unix epoch.
func imfFixdate(unix int64) string { return time.Unix(unix, 0).UTC().Format(http.TimeFormat) }

// dateCache keeps the Date value of the latest second. The zero value is ready.
type dateCache struct{ last atomic.Pointer[datedValue] }

type datedValue struct {
	unix  int64
	value []string
}

// at returns the value of Date for a time in nanoseconds since the Unix epoch, rounded down to the second.
func (c *dateCache) at(t time.Duration) []string {
	unix := int64(t / time.Second)
	if d := c.last.Load(); d != nil && d.unix == unix {
		return d.value
	}
	d := &datedValue{unix: unix, value: []string{imfFixdate(unix)}}
	c.last.Store(d)
	return d.value
}

// DenyBody says what the body of a denial is.
type DenyBody string

// The bodies. The first three are problem details (RFC 9457), application/problem+json. Their types are those
// of draft-ietf-httpapi-ratelimit-headers-10 and -11, sections 5.1 to 5.3.
const (
	// DenyQuotaExceeded is also the meaning of the zero value.
	DenyQuotaExceeded   DenyBody = "quota-exceeded"
	DenyReducedCapacity DenyBody = "temporary-reduced-capacity"
	DenyAbnormalUsage   DenyBody = "abnormal-usage-detected"
	// DenyJSON is a JSON object that is no problem, as many products send it. It has a code, a message, the
	// wait in seconds, the limit, and when the quota is back, in seconds since 1970.
	DenyJSON DenyBody = "json"
	// DenyRetryInfo is a JSON object as APIs of Google send it, with the wait in a google.rpc.RetryInfo.
	DenyRetryInfo DenyBody = "retry-info"
	// DenyText is a line of plain text.
	DenyText DenyBody = "text"
	// DenyEmpty has no bytes and no media type.
	DenyEmpty DenyBody = "none"
)

// problemTypes is the beginning of the draft's problem types.
const problemTypes = "https://iana.org/assignments/http-problem-types#"

// title returns the title of the problem type b.
func (b DenyBody) title() string {
	switch b {
	case DenyReducedCapacity:
		return "Request cannot be satisfied due to temporary server capacity constraints"
	case DenyAbnormalUsage:
		return "Request not satisfied due to detection of abnormal request pattern"
	default:
		return "Request cannot be satisfied as assigned quota has been exceeded"
	}
}

// denial returns the body of a denial and its media type.
func (a *answer) denial() (string, []string) {
	switch a.target.opts.DenyBody {
	case DenyEmpty:
		return "", nil
	case DenyJSON:
		return `{"error":{"code":"rate_limited","message":"` + a.detail() + `",` + a.members() + "}}\n",
			jsonType
	case DenyRetryInfo:
		return a.retryInfo(), jsonType
	case DenyText:
		return a.detail() + "\n", plainType
	default:
		return a.problem(a.status), problemType
	}
}

// detail says in words what was exceeded, and when to come back.
func (a *answer) detail() string {
	text := "At most " + a.target.facts.limit[0] + " units; this request needs " +
		strconv.FormatInt(a.cost, 10) + "."
	if a.ruling.RetryAfter != reference.Never {
		text += " Try again in " + strconv.FormatInt(max(1, ceilSeconds(a.wait())), 10) + " s."
	}
	return text
}

// members returns the numbers of a denial as members of a JSON object.
func (a *answer) members() string {
	text := `"limit":` + a.target.facts.limit[0]
	if a.ruling.RetryAfter != reference.Never {
		text = `"retry_after":` + strconv.FormatInt(max(1, ceilSeconds(a.wait())), 10) + "," + text
	}
	return text + `,"reset_at":` + strconv.FormatInt(ceilSeconds(a.now+a.reset()), 10)
}

// problem returns the problem details of a denial. violated-policies names the policies of RateLimit-Policy.
func (a *answer) problem(status int) string {
	of := a.target.opts.DenyBody
	if of == DenyText || of == DenyEmpty || of == DenyJSON || of == DenyRetryInfo {
		of = DenyQuotaExceeded
	}
	return `{"type":"` + problemTypes + string(of) + `","title":"` + of.title() + `","status":` +
		strconv.Itoa(status) +
		`,"detail":"` + a.detail() + `","violated-policies":[` + a.target.facts.item + `]}` + "\n"
}

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
