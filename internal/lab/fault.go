package lab

import (
	"cmp"
	_ "embed" // the faults in words
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/wrong"
)

// Fault is a deliberate defect. The zero value is no fault: a right target. Its hooks say what it changes. A
// nil hook changes nothing.
type Fault struct {
	// Name is stable, lower case with dashes.
	Name string
	// Sentence says what a target with the fault does. Class is that of docs/faults.md, a letter and a
	// number. Empty: a class of its own. Citation is the address of a public report of a product with the
	// fault, or the rule that it breaks. All three come from faults.txt.
	Sentence, Class, Citation string
	// Promise is what a target must promise for this to be a fault. Empty: it is always one.
	Promise string
	// Declared is what a scenario must declare of a target that is not embedded: PATH=VALUE. Empty: nothing.
	Declared string
	// Proxy: the fault is one of a proxy (NewProxy), not of a target (New).
	Proxy bool

	// fits says in a sentence which limits can show the fault. Empty: this limit can.
	fits func(spec.Limit) string
	// options edits the options before anything is built.
	options func(*Options)
	// policy edits each policy that is enforced. Answers still describe the declared policy.
	policy func(spec.Policy) spec.Policy
	// limiter replaces or wraps the limiter. Its states are never evicted.
	limiter func(reference.Limiter, spec.Limit) reference.Limiter
	// decider replaces the decider, which keeps the states.
	decider func(Setup) Decider
	// key edits the partition of a request.
	key func(*http.Request, string) string
	// network replaces the network under which a client without a name is counted, by its address.
	network func(netip.Addr) string
	// unlimited tells whether a request is let through without a decision.
	unlimited func(*Target, *http.Request) bool
	// pause returns how long the answer is held back.
	pause func(Ruling) time.Duration
	// slow: the head of an answer is sent first, and its body later.
	slow bool
	// drops: a denial ends the connection instead of an answer.
	drops bool
	// uncounted: denials are missing in the target's own count of them.
	uncounted bool
	// answer edits a finished answer.
	answer func(*answer)
	// reply edits a finished answer by its request, after answer.
	reply func(*answer, *http.Request)
	// settles returns what a request of a language model is charged when it is complete.
	settles func(bill) int64
	// paysDenied: a denied request is charged what it asked for.
	paysDenied bool
	// price edits the cost of a request.
	price func(*http.Request, int64) int64
	// success replaces what a success clears.
	success func(*Target)
	// cap tells whether a cap is kept.
	cap func(Cap) bool
	// rule tells whether a rule is kept. zeroUnlimited lets through the requests that a rule bars. rawPaths
	// compares paths as written. alsoCounted also counts requests under a rule with a limit by the limit of
	// all others. exemptCounted does so for requests under a rule without one.
	rule                                 func(*Rule) bool
	rawPaths, alsoCounted, exemptCounted bool
	zeroUnlimited                        bool
	// These say what goes wrong at events. stall is how long a request waits for a store that is gone.
	// queues: it waits until the store is back.
	restartForgets, reloadForgets, reloadIgnored, reloadKeepsLive, outageForgets, staysOpen bool
	queues                                                                                  bool
	stall                                                                                   time.Duration
	// proxy edits the options of a proxy.
	proxy func(*ProxyOptions)
}

// Want is what a target needs beside its limit to show a fault. Empty: nothing.
type Want string

// The wants. The addresses of clients are known, some requests have a rule, something happens to the target
// or to its store, the target is embedded in a run, or it serves a language model (Options.Tokens). Only an
// embedded target has caps and owners of tokens.
const (
	WantAddresses Want = "addresses"
	WantRule      Want = "rule"
	WantEvent     Want = "event"
	WantOutage    Want = "outage"
	WantEmbedded  Want = "embedded"
	WantTokens    Want = "tokens"
)

// Wants returns what a target needs to show the fault.
func (f Fault) Wants() Want {
	owned := Options{Owned: true}
	if f.options != nil {
		f.options(&owned)
	}
	switch {
	case f.network != nil:
		return WantAddresses
	case f.rule != nil, f.rawPaths, f.alsoCounted, f.exemptCounted, f.zeroUnlimited:
		return WantRule
	case f.restartForgets, f.reloadForgets, f.reloadIgnored, f.reloadKeepsLive:
		return WantEvent
	case strings.HasPrefix(f.Name, "outage-"):
		return WantOutage
	case f.settles != nil:
		return WantTokens
	case f.cap != nil, !owned.Owned:
		return WantEmbedded
	}
	return ""
}

// Fits returns "" if l can show the fault. Otherwise it returns a sentence with the rule that l breaks.
func (f Fault) Fits(l spec.Limit) string { return f.defect().Unfit(l) }

// defect is what is wrong with the limiter itself.
func (f Fault) defect() wrong.Defect {
	return wrong.Defect{Fits: f.fits, Policy: f.policy, Limiter: f.limiter}
}

// faultsText has the class of each fault, behind its name, what a target with it does (text), and where it
// was seen.
//
//go:embed faults.txt
var faultsText string

// faults are all faults, ascending by name.
var faults = sync.OnceValue(func() []Fault {
	all := slices.Concat(completionFaults, tokenFaults, storeFaults, keyFaults, attributeFaults, abuseFaults,
		retryAfterFaults, quotaFieldFaults, denialFaults, proxyFaults, eventFaults, ruleFaults, methodFaults,
		connectionFaults, timeFaults)
	for _, e := range text.Entries(faultsText) {
		name, class, _ := strings.Cut(e.Name, " ")
		f := &all[slices.IndexFunc(all, func(f Fault) bool { return f.Name == name })]
		f.Sentence, f.Class, f.Citation = e.Get("text"), class, e.Get("seen")
	}
	for _, d := range wrong.Defects() {
		f := Fault{Name: d.Name, Sentence: d.Sentence, Class: d.Class, Citation: d.Citation,
			Promise: d.Promise, fits: d.Fits, policy: d.Policy, limiter: d.Limiter}
		if d.Client != nil {
			f.key = func(_ *http.Request, key string) string { return d.Client(key) }
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Fault) int { return strings.Compare(a.Name, b.Name) })
	return all
})

// Faults returns all faults of targets and of proxies, ascending by name.
func Faults() []Fault { return slices.Clone(faults()) }

// FindFault returns the fault with the name, among those of a proxy or those of a target; the zero value for
// no name. The error names a similar fault, or the command that has it.
func FindFault(name string, proxy bool) (Fault, error) {
	if name == "" {
		return Fault{}, nil
	}
	command := map[bool]string{false: "serve", true: "proxy"}
	var names []string
	for _, f := range faults() {
		switch {
		case f.Name == name && f.Proxy == proxy:
			return f, nil
		case f.Name == name:
			return Fault{}, fmt.Errorf("fault %q: that fault belongs to rlcheck %s (rlcheck %s --fault %s)",
				name, command[!proxy], command[!proxy], name)
		case f.Proxy == proxy:
			names = append(names, f.Name)
		}
	}
	near := cmp.Or(text.Suggest(name, names), "rlcheck "+command[proxy]+" --fault list shows all faults")
	return Fault{}, fmt.Errorf("fault %q: there is no such fault (%s)", name, near)
}

// cleared demands a limit that a success clears.
func cleared(l spec.Limit) string {
	if l.Cleared() {
		return ""
	}
	return "it needs a limit that a success clears (clear=200..299)"
}

// have been in time.
func onTime(l spec.Limit) string {
	if slices.ContainsFunc(l, spec.Policy.Queued) {
		return "it needs policies that deny rather than delay"
	}
	return untold(l)
}

// untold demands policies that need not be told of completions.
func untold(l spec.Limit) string {
	if l.Completes() {
		return "it needs a limit that is charged at the decision"
	}
	return ""
}

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
		fits:   func(l spec.Limit) string { return wrong.FirstOf(bitByBit(l), toldApart(l)) },
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
	{Name: "headers-only-on-denial", answer: func(a *answer) {
		if a.ruling.Allow {
			a.del(quotaFields...)
		}
	}},
	{Name: "headers-only-on-success", answer: func(a *answer) {
		if !a.ruling.Allow {
			a.del(quotaFields...)
		}
	}},
	{Name: "remaining-off-by-one", answer: func(a *answer) {
		if a.ruling.Allow {
			a.setQuota(a.ruling.Remaining+a.cost, a.reset())
		}
	}},
	{Name: "remaining-negative", answer: func(a *answer) {
		if !a.ruling.Allow {
			a.setQuota(a.ruling.Remaining-a.cost, a.reset())
		}
	}},
	{Name: "denial-tells-other-limit", fits: wrong.QuotaTwo, answer: func(a *answer) {
		if !a.ruling.Allow {
			a.setQuota((a.target.facts.quota+1)/2, a.reset())
		}
	}},
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
	{Name: "cacheable-denial", answer: func(a *answer) {
		if !a.ruling.Allow {
			a.header["Cache-Control"] = []string{"public, max-age=60"}
		}
	}},
	{Name: "denial-unexplained", answer: func(a *answer) {
		if !a.ruling.Allow {
			a.body, a.typ = "", plainType
		}
	}},
	{Name: "problem-status-differs", answer: func(a *answer) {
		if !a.ruling.Allow {
			a.body = a.problem(http.StatusBadRequest)
		}
	}},
	{Name: "denial-drops", drops: true},
	{Name: "denials-uncounted", uncounted: true},
	{Name: "denial-hangs", pause: func(r Ruling) time.Duration {
		if r.Allow {
			return 0
		}
		return neverAnswered
	}},
	{Name: "slow-denials", pause: func(r Ruling) time.Duration {
		if r.Allow {
			return 0
		}
		return slowDenial
	}},
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
func notFiveSeconds(l spec.Limit) string {
	for _, p := range l {
		if ceilSeconds(p.Ban) == 5 {
			return "the limit declares a ban of 5 s, which is what the fault tells"
		}
	}
	return ""
}

// toldApart demands a policy whose first unit and whole quota surely come back in different whole seconds.
// How long a window that slides makes a client wait is judged no closer than by its length.
func toldApart(l spec.Limit) string {
	for _, p := range l {
		first := time.Second // a window may end at any time
		if !p.HasWindow() {
			first = p.UntilBack(1) + time.Millisecond
		}
		first = max(first, p.LongestBan()) + p.Tick
		if (p.Fixed() || !p.HasWindow()) && ceilSeconds(wrong.WindowOf(p)) > ceilSeconds(first) {
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
