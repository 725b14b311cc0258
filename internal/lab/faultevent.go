package lab

import (
	"net/http"
	"strconv"
	"time"
)

// eventFaults show when something happens to the limiter.
var eventFaults = []Fault{
	{Name: "restart-forgets", restartForgets: true},
	{Name: "reload-forgets", reloadForgets: true},
	{Name: "reload-ignored", reloadIgnored: true},
	{Name: "reload-live-keys-keep", reloadKeepsLive: true},
	{Name: "outage-answers-500", options: func(o *Options) { o.OnStoreError = StoreErrorFails }},
	{Name: "outage-denies", options: func(o *Options) { o.OnStoreError = StoreErrorDenies }},
	{Name: "outage-hangs", stall: 3 * time.Second},
	{Name: "outage-queues", queues: true},
	{Name: "outage-forgets", outageForgets: true},
	{Name: "outage-stays-open", staysOpen: true},
}

// ruleFaults are faults of limits for routes, methods and tiers.
var ruleFaults = []Fault{
	{Name: "route-limit-ignored", rule: func(u *Rule) bool { return u.Path == "" || len(u.Limit) == 0 }},
	{Name: "routes-share-counter", alsoCounted: true},
	{Name: "route-by-raw-path", fits: startsWithSome, rawPaths: true},
	{Name: "tier-ignored", rule: func(u *Rule) bool { return len(u.Header) == 0 }},
	{Name: "exempt-limited", rule: func(u *Rule) bool { return len(u.Limit) > 0 || u.Barred }},
	{Name: "zero-means-unlimited", zeroUnlimited: true},
	{Name: "exempt-counted", exemptCounted: true},
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
