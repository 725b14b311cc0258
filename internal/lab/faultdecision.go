package lab

import (
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/wrong"
)

// keyFaults choose the partition of a request wrongly.
var keyFaults = []Fault{
	{Name: "forwarded-for-trusted", fits: wrong.StartsWithSome,
		key: func(r *http.Request, key string) string {
			if first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-For"),
				","); strings.TrimSpace(first) != "" {
				return "forwarded for " + strings.TrimSpace(first)
			}
			return key
		}},
	{Name: "real-ip-trusted", fits: wrong.StartsWithSome,
		key: trusting("real address ", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "X-Client-Ip")},
	{Name: "key-by-path",
		key: func(r *http.Request, key string) string { return key + " " + r.URL.EscapedPath() }},
	{Name: "key-by-query",
		key: func(r *http.Request, key string) string { return key + " ?" + r.URL.RawQuery }},
	{Name: "key-by-method", fits: unqueued,
		key: func(r *http.Request, key string) string { return key + " " + r.Method }},
	{Name: "long-key-unlimited", unlimited: func(t *Target, r *http.Request) bool {
		key, _ := t.named(r)
		return len(key) > 250
	}},
	{Name: "empty-key-unlimited", unlimited: func(t *Target, r *http.Request) bool {
		key, ok := t.named(r)
		return ok && key == ""
	}},
	{Name: "ipv6-per-address", fits: wrong.StartsWithSome,
		network: func(a netip.Addr) string { return a.Unmap().String() }},
	{Name: "mapped-address-apart", network: func(a netip.Addr) string {
		if a.Is4In6() {
			return a.String()
		}
		return networkOf(a)
	}},
	{Name: "missing-key-unlimited", unlimited: func(t *Target, r *http.Request) bool {
		_, ok := t.named(r)
		return !ok
	}},
}

// trusting returns the hook that takes the first of some header fields that is sent for the client.
func trusting(as string, fields ...string) func(*http.Request, string) string {
	return func(r *http.Request, key string) string {
		for _, name := range fields {
			if v := r.Header.Get(name); v != "" {
				return as + v
			}
		}
		return key
	}
}

// attributeFaults take a client for another one if its requests differ in one thing.
var attributeFaults = []Fault{
	byAttribute("key-by-path-case",
		func(r *http.Request) bool { return r.URL.Path != strings.ToLower(r.URL.Path) }),
	byAttribute("key-by-slashes", func(r *http.Request) bool { return strings.Contains(r.URL.Path, "//") }),
	byAttribute("key-by-trailing-slash", func(r *http.Request) bool {
		return len(r.URL.Path) > 1 && strings.HasSuffix(r.URL.Path, "/")
	}),
	byAttribute("key-by-dot-segment",
		func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/./") }),
	byAttribute("key-by-encoding", func(r *http.Request) bool { return r.URL.RawPath != "" }),
	byAttribute("key-by-extension", func(r *http.Request) bool { return path.Ext(r.URL.Path) != "" }),
	byAttribute("key-by-host", func(r *http.Request) bool { return strings.HasSuffix(r.Host, ".invalid") }),
	byAttribute("key-by-port", func(r *http.Request) bool {
		_, _, err := net.SplitHostPort(r.Host)
		return err != nil && !strings.HasSuffix(r.Host, ".invalid")
	}),
	byField("key-by-user-agent", "User-Agent"),
	byField("key-by-accept", "Accept"),
	byField("key-by-language", "Accept-Language"),
	byField("key-by-cookie", "Cookie"),
	byField("key-by-authorization", "Authorization"),
	byField("key-by-origin", "Origin"),
	byField("key-by-entity-tag", "If-None-Match"),
	byAttribute("key-by-body", func(r *http.Request) bool { return r.ContentLength > 0 }),
	{Name: "chunked-unlimited",
		unlimited: func(_ *Target, r *http.Request) bool { return r.ContentLength < 0 }},
	freeCost("zero-cost-free", "zero-cost", func(n uint64, _ string) bool { return n == 0 }),
	freeCost("negative-cost-free", "", func(_ uint64, v string) bool { return v[0] == '-' }),
	freeCost("huge-cost-free", "", func(n uint64, _ string) bool { return n > math.MaxInt64 }),
	freeCost("word-cost-free", "", func(_ uint64, v string) bool { return v == "NaN" }),
	freeWith("conditions-unlimited", "", "If-Modified-Since", ""),
	freeWith("ranges-unlimited", "", "Range", ""),
	freeWith("loopback-unlimited", "", "X-Forwarded-For", "127.0.0.1"),
	freeWith("probes-unlimited", "kube-probe", "User-Agent", "kube-probe"),
	freeWith("balancers-unlimited", "elb-health-checker", "User-Agent", "ELB-HealthChecker"),
	freeWith("crawlers-unlimited", "googlebot", "User-Agent", "Googlebot"),
	{Name: "options-unlimited", Declared: "expect.attributes.options=shared",
		unlimited: func(_ *Target, r *http.Request) bool { return r.Method == http.MethodOptions }},
	{Name: "key-by-fingerprint", key: func(r *http.Request, key string) string {
		for name := range r.Header {
			if strings.HasPrefix(name, "X-") && name != "X-Api-Key" && name != "X-Cost" {
				key += " " + name // as many as there are: order does not matter for one
			}
		}
		return key
	}},
	{Name: "key-by-field-case", key: func(r *http.Request, key string) string {
		return key + oddly(r, key, func(line string) bool {
			name, _, _ := strings.Cut(line, ":")
			return textproto.CanonicalMIMEHeaderKey(name) != name
		})
	}},
	{Name: "key-by-spaces", key: func(r *http.Request, key string) string {
		return key + oddly(r, key, func(line string) bool { return strings.HasSuffix(line, " ") })
	}},
	{Name: "keys-folded", Declared: "expect.attributes.key-case=separate",
		key: func(_ *http.Request, key string) string { return strings.ToLower(key) }},
	{Name: "key-by-all-values", Declared: "expect.attributes.key-twice=shared",
		key: func(r *http.Request, key string) string {
			if all := r.Header["X-Api-Key"]; len(all) > 1 {
				return strings.Join(all, ", ")
			}
			return key
		}},
	{Name: "forwarded-trusted", key: trusting("forwarded ", "Forwarded")},
	{Name: "key-by-version", key: func(r *http.Request, key string) string { return key + " " + r.Proto }},
	{Name: "key-by-connection",
		key: func(r *http.Request, key string) string { return key + " " + r.RemoteAddr }},
	{Name: "replays-free",
		unlimited: func(_ *Target, r *http.Request) bool { return r.Header.Get("Idempotency-Key") != "" }},
}

// byAttribute returns the fault that counts the requests for which differs is true separately from the
// others.
func byAttribute(name string, differs func(*http.Request) bool) Fault {
	return Fault{Name: name, key: func(r *http.Request, key string) string {
		if differs(r) {
			return key + " " + name
		}
		return key
	}}
}

// byField returns the fault that counts each value of a header field separately.
func byField(name, field string) Fault {
	return Fault{Name: name,
		key: func(r *http.Request, key string) string { return key + " " + r.Header.Get(field) }}
}

// freeWith returns the fault that does not count requests whose header field has a part. declared is the
// attribute that a scenario must declare shared. Empty: nothing.
func freeWith(name, declared, field, part string) Fault {
	return free(name, declared, func(_ *Target, r *http.Request) bool {
		v := r.Header.Get(field)
		return v != "" && strings.Contains(v, part)
	})
}

// free returns the fault that does not count some requests. declared is the attribute that a scenario must
// declare shared. Empty: nothing.
func free(name, declared string, unlimited func(*Target, *http.Request) bool) Fault {
	f := Fault{Name: name, unlimited: unlimited}
	if declared != "" {
		f.Declared = "expect.attributes." + declared + "=shared"
	}
	return f
}

// freeCost returns the fault that counts no request whose stated cost is so. n is that cost, or 1 if it is
// no natural number. declared is the attribute that a scenario must declare shared. Empty: nothing.
func freeCost(name, declared string, is func(n uint64, text string) bool) Fault {
	return free(name, declared, func(t *Target, r *http.Request) bool {
		v := r.Header.Get(t.costHdr)
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			n = 1
		}
		return v != "" && is(n, v)
	})
}

// oddly returns the line of a key if it is written in an unusual way that `is` accepts. Only the servers of
// Listen keep lines.
func oddly(r *http.Request, key string, is func(line string) bool) string {
	lines, ok := r.Context().Value(LinesKey{}).(func() []string)
	if !ok {
		return ""
	}
	for _, line := range lines() {
		if strings.Contains(line, key) && is(line) {
			return " " + line
		}
	}
	return ""
}

// storeFaults keep or share states wrongly.
var storeFaults = []Fault{
	{Name: "check-then-act", decider: racing},
	{Name: "per-replica-counters", decider: func(b Setup) Decider { return newPrivate(atLeastTwo(b)) }},
	{Name: "replicas-sync-late", fits: untold,
		decider: func(b Setup) Decider { return newSyncing(atLeastTwo(b), time.Second) }},
	{Name: "quota-divided", fits: losesByEight, decider: func(b Setup) Decider { return divided(b, 8) }},
	{Name: "evicts-keys", fits: untold, decider: func(b Setup) Decider { return evicting(b, 64) }},
	{Name: "state-lost", fits: wrong.QuotaTwo, // one unit is back before anybody sees that it was given twice
		decider: func(b Setup) Decider { return amnesiac(b, 2200*time.Millisecond) }},
	{Name: "state-lost-rarely", decider: func(b Setup) Decider { return amnesiac(b, time.Minute) }},
	{Name: "delays-instead", fits: untold, decider: patient},
}

// losesByEight demands a quota of which eight equal parts in whole units are less than all of it.
func losesByEight(l spec.Limit) string {
	if l.Full()%8 != 0 {
		return ""
	}
	return "an eighth of this quota is whole, so the replicas together have all of it (declare another)"
}

// atLeastTwo returns b with at least two replicas, as fewer show no fault of replication.
func atLeastTwo(b Setup) Setup {
	b.Replicas = max(2, b.Replicas)
	return b
}

// completionFaults are about the end of requests: places that come back wrongly, and charges at the wrong
// end.
var completionFaults = []Fault{
	{Name: "place-leaked", fits: inFlight, decider: leaking},
	{Name: "place-released-early", fits: inFlight, decider: hasty},
	{Name: "left-refunded", sending: sending{slow: true}, decider: refunding,
		fits: wrong.All(onTime, wrong.QuotaTwo)},
	{Name: "counted-on-completion", fits: chargedEarly, policy: lateCharge, pause: held(true, serviceTime)},
	{Name: "counted-on-decision", fits: wrong.Some(
		func(p spec.Policy) bool { return p.Charge == spec.ChargeCompletion },
		"it needs a limit that is charged at the completion"), policy: func(p spec.Policy) spec.Policy {
		if p.Charge == spec.ChargeCompletion {
			p.Charge, p.HoldLeast, p.HoldMost, p.Linger, p.LingerSet = spec.ChargeDecision, 0, 0, 0, false
		}
		return p
	}},
}

// serviceTime is how long a target that counts too late serves a request.
const serviceTime = 20 * time.Millisecond

var inFlight = wrong.One(spec.Policy.InFlight, "it needs one limit on requests in flight (concurrency)")

// chargedEarly demands one policy whose charge could come later.
var chargedEarly = wrong.One(func(p spec.Policy) bool {
	_, err := reference.New(lateCharge(p))
	return !p.Completes() && err == nil
}, "it needs one policy that counts admitted requests at the decision, and could at the completion")

// lateCharge returns p, charged when requests are complete.
func lateCharge(p spec.Policy) spec.Policy {
	p.Charge = spec.ChargeCompletion
	return p
}

// eventFaults show when something happens to the limiter.
var eventFaults = []Fault{
	{Name: "restart-forgets", atEvents: atEvents{restartForgets: true}},
	{Name: "reload-forgets", atEvents: atEvents{reloadForgets: true}},
	{Name: "reload-ignored", atEvents: atEvents{reloadIgnored: true}},
	{Name: "reload-live-keys-keep", atEvents: atEvents{reloadKeepsLive: true}},
	{Name: "outage-answers-500", options: func(o *Options) { o.OnStoreError = StoreErrorFails }},
	{Name: "outage-denies", options: func(o *Options) { o.OnStoreError = StoreErrorDenies }},
	{Name: "outage-hangs", fits: answersSoon, atEvents: atEvents{stall: stalls}},
	{Name: "outage-queues", atEvents: atEvents{queues: true}},
	{Name: "outage-forgets", atEvents: atEvents{outageForgets: true}},
	{Name: "outage-stays-open", atEvents: atEvents{staysOpen: true}},
}

// ruleFaults are faults of limits for routes, methods and tiers.
var ruleFaults = []Fault{
	{Name: "route-limit-ignored", ofRules: ofRules{rule: func(u *Rule) bool {
		return u.Path == "" || len(u.Limit) == 0
	}}},
	{Name: "routes-share-counter", ofRules: ofRules{alsoCounted: true}},
	{Name: "route-by-raw-path", fits: wrong.StartsWithSome, ofRules: ofRules{rawPaths: true}},
	{Name: "tier-ignored", ofRules: ofRules{rule: func(u *Rule) bool { return len(u.Header) == 0 }}},
	{Name: "exempt-limited", ofRules: ofRules{rule: func(u *Rule) bool {
		return len(u.Limit) > 0 || u.Barred
	}}},
	{Name: "zero-means-unlimited", ofRules: ofRules{zeroUnlimited: true}},
	{Name: "exempt-counted", ofRules: ofRules{exemptCounted: true}},
}

// methodFaults are faults of methods other than GET.
var methodFaults = []Fault{
	{Name: "head-unlimited",
		unlimited: func(_ *Target, r *http.Request) bool { return r.Method == http.MethodHead }},
	{Name: "post-unlimited",
		unlimited: func(_ *Target, r *http.Request) bool { return r.Method == http.MethodPost }},
	{Name: "head-counted-twice", price: func(r *http.Request, cost int64) int64 {
		if r.Method == http.MethodHead {
			return 2 * cost
		}
		return cost
	}},
	{Name: "head-without-fields", reply: func(a *answer, r *http.Request) {
		if r.Method == http.MethodHead {
			a.del(quotaFields...)
			a.del("Retry-After")
		}
	}},
}

// connectionFaults tell connections apart.
var connectionFaults = []Fault{
	{Name: "per-worker-counters", key: func(r *http.Request, key string) string {
		last := byte(0)
		if n := len(r.RemoteAddr); n > 0 {
			last = r.RemoteAddr[n-1]
		}
		// The ports of one client are mostly even, or mostly odd.
		return key + " worker " + strconv.Itoa(int(last)%4/2)
	}},
}

// abuseFaults let a client take more than its limit on purpose: by ids, tokens and accounts of its own
// making, or as many clients of one tenant.
var abuseFaults = []Fault{
	{Name: "client-id-trusted", key: trusting("id ", "X-Api-Key", "X-Client-Id", "X-Device-Id")},
	{Name: "key-by-token", options: func(o *Options) { o.Owned = false }},
	{Name: "auth-before-limit", unlimited: func(t *Target, _ *http.Request) bool {
		return t.opts.AllowStatus == http.StatusUnauthorized
	}},
	{Name: "login-by-address-only", key: func(r *http.Request, _ string) string {
		if v := r.Header.Get("X-Forwarded-For"); v != "" {
			return "forwarded for " + v
		}
		return addressKey(r)
	}},
	{Name: "login-by-account-only", cap: func(c Cap) bool { return !c.ByAddress }},
	{Name: "success-unlimited", fits: cleared,
		unlimited: func(_ *Target, r *http.Request) bool { return success(r) }},
	{Name: "success-clears-all", fits: cleared, success: func(t *Target) { _ = t.forget() }},
	{Name: "success-uncleared", success: func(*Target) {},
		fits: wrong.All(cleared, wrong.QuotaTwo)},
	{Name: "global-cap-ignored", cap: func(c Cap) bool { return c.ByAddress || c.Path != "" }},
	{Name: "route-cap-ignored", cap: func(c Cap) bool { return c.Path == "" }},
	{Name: "user-limit-ignored",
		unlimited: func(t *Target, _ *http.Request) bool { return len(t.opts.Caps) > 0 }},
	{Name: "exempt-for-all", ofRules: ofRules{rule: func(u *Rule) bool {
		if len(u.Limit) == 0 && !u.Barred {
			u.Header = nil
		}
		return true
	}}},
}

// ownerOf returns the owner of a token OWNER.NUMBER.
func ownerOf(token string) string {
	if i := strings.LastIndexByte(token, '.'); i > 0 {
		return token[:i]
	}
	return token
}

// timeFaults take the time at the wrong moment, or read it at different times.
var timeFaults = []Fault{
	{Name: "time-before-lock", fits: unticked, limiter: wrong.Bucket{}.Serve,
		decider: func(b Setup) Decider { return overtaken(b, staleBy) }},
	{Name: "reset-of-next-window", fits: wholeSeconds, answer: tellNextReset},
}

// staleBy is how old the times of the fault time-before-lock may be.
const staleBy = 20 * time.Millisecond

// unticked demands such a bucket of ten a second, whose clock ticks more often than the fault is late.
var unticked = wrong.All(wrong.QuickBucket(10),
	wrong.Never(func(p spec.Policy) bool { return p.Tick >= staleBy },
		"a clock with such ticks hides that a time is old (declare it without tick)"))

// wholeSeconds demands one fixed window by the clock that a field in whole seconds tells from the next one.
var wholeSeconds = wrong.All(wrong.ClockWindow,
	wrong.Never(func(p spec.Policy) bool { return p.Rate.Per < time.Second },
		"windows under a second hide which of them a field in whole seconds means (declare a longer one)"))

// toldLater is how much later the fault reset-of-next-window reads its clock again.
const toldLater = 100 * time.Millisecond

// tellNextReset states the end of the next window if that of the decision ends before the fields are made.
func tellNextReset(a *answer) {
	rest, window := a.ruling.Reset, a.target.facts.window
	if rest > toldLater || rest <= 0 {
		return
	}
	a.setQuota(a.ruling.Remaining, rest+window)
	if len(a.header["Retry-After"]) > 0 {
		a.setRetryAfter(rest + window)
	}
}
