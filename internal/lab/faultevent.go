package lab

import (
	"net/http"
	"strconv"
	"time"
)

// eventFaults show when something happens to the limiter.
var eventFaults = []Fault{
	{Name: "restart-forgets", Class: "A9",
		Sentence: "keeps its state in the process, so a restart gives every partition a fresh quota",
		Citation: "https://github.com/NVIDIA/nvcf/issues/975", restartForgets: true},
	{Name: "reload-forgets", Class: "A9",
		Sentence: "gives every partition a fresh quota when it reads its configuration",
		Citation: "https://github.com/nuetzliches/hookaido/pull/239", reloadForgets: true},
	{Name: "reload-ignored", Class: "B13", Sentence: "keeps its old limit when it reads a new one",
		Citation: "https://github.com/3scale/APIcast/issues/667", reloadIgnored: true},
	{Name: "reload-live-keys-keep", Class: "B13",
		Sentence: "holds known partitions to the limit that was declared when it first saw them",
		Citation: "https://github.com/afreidah/s3-orchestrator/issues/84", reloadKeepsLive: true},
	{Name: "outage-answers-500", Class: "A14",
		Sentence: "answers 500 while its store is gone, whatever is declared for that case",
		Citation: "https://github.com/express-rate-limit/rate-limit-redis/issues/72",
		options:  func(o *Options) { o.OnStoreError = StoreErrorFails }},
	{Name: "outage-denies", Class: "A14", Sentence: "denies everything while its store is gone, whatever " +
		"is declared for that case", Citation: "https://github.com/langfuse/langfuse/pull/5001",
		options: func(o *Options) { o.OnStoreError = StoreErrorDenies }},
	{Name: "outage-hangs", Class: "A14",
		Sentence: "waits three seconds for a store that is gone before it answers",
		Citation: "https://github.com/fastify/fastify-rate-limit/issues/84", stall: 3 * time.Second},
	{Name: "outage-queues", Class: "A14", Sentence: "holds requests while its store is gone, and counts " +
		"them when the store is back, even if their clients have left",
		Citation: "https://github.com/animir/node-rate-limiter-flexible/issues/37", queues: true},
	{Name: "outage-forgets", Class: "A14", Sentence: "gives every partition a fresh quota when its store " +
		"is back", Citation: "https://github.com/apache/shenyu/issues/6645", outageForgets: true},
	{Name: "outage-stays-open", Class: "A14", Sentence: "does not notice that its store is back",
		Citation: "https://github.com/apache/shenyu/issues/6645", staysOpen: true},
}

// ruleFaults are faults of limits for routes, methods and tiers.
var ruleFaults = []Fault{
	{Name: "route-limit-ignored", Class: "A4", Sentence: "holds every route to the same limit, and counts " +
		"all routes together", Citation: "https://github.com/rayriffy/elysia-rate-limit/issues/36",
		rule: func(u *Rule) bool { return u.Path == "" || len(u.Limit) == 0 }},
	{Name: "routes-share-counter", Class: "",
		Sentence: "counts the requests to a route with its own limit against the limit of all others too",
		Citation: "https://github.com/futurestudio/hapi-rate-limitor/issues/110", alsoCounted: true},
	{Name: "route-by-raw-path", Class: "A17",
		Sentence: "compares paths as they are written, so another spelling escapes the limit of a route",
		Citation: "https://github.com/coder/coder/pull/27273", rawPaths: true},
	{Name: "tier-ignored", Class: "A4", Sentence: "holds clients of every tier to the same limit",
		Citation: "https://github.com/koala73/worldmonitor/issues/3199",
		rule:     func(u *Rule) bool { return len(u.Header) == 0 }},
	{Name: "exempt-limited", Class: "", Sentence: "limits the routes that should not be limited",
		Citation: "https://github.com/lablup/backend.ai/issues/14714",
		rule:     func(u *Rule) bool { return len(u.Limit) > 0 || u.Barred }},
	{Name: "zero-means-unlimited", Class: "A13", Sentence: "treats a limit of nothing as no limit",
		Citation: "https://github.com/spring-cloud/spring-cloud-gateway/issues/168", zeroUnlimited: true},
	{Name: "exempt-counted", Class: "",
		Sentence: "lets requests to exempt routes through, but counts them against the quota of their client",
		Citation: "https://github.com/Keeper-Security/Commander/pull/2108", exemptCounted: true},
}

// methodFaults are faults of methods other than GET.
var methodFaults = []Fault{
	{Name: "head-unlimited", Class: "A17", Sentence: "does not count HEAD requests",
		Citation:  "https://github.com/docker/docs/pull/11707",
		unlimited: func(_ *Target, r *http.Request) bool { return r.Method == http.MethodHead }},
	{Name: "post-unlimited", Class: "A17", Sentence: "does not count POST requests",
		Citation:  "https://github.com/KathanP19/HowToHunt/pull/24",
		unlimited: func(_ *Target, r *http.Request) bool { return r.Method == http.MethodPost }},
	{Name: "head-counted-twice", Class: "B7",
		Sentence: "counts a HEAD request twice, once for itself and once for the GET that answers it",
		Citation: "https://github.com/fastify/fastify-rate-limit/issues/131",
		price: func(r *http.Request, cost int64) int64 {
			if r.Method == http.MethodHead {
				return 2 * cost
			}
			return cost
		}},
	{Name: "head-without-fields", Class: "C12",
		Sentence: "answers HEAD without the fields that GET has",
		Citation: "https://www.rfc-editor.org/rfc/rfc9110#section-9.3.2",
		reply: func(a *answer, r *http.Request) {
			if r.Method == http.MethodHead {
				a.del(quotaFields...)
				a.del("Retry-After")
			}
		}},
}

// connectionFaults tell connections apart.
var connectionFaults = []Fault{
	{Name: "per-worker-counters", Class: "A5",
		Sentence: "has two workers that count for themselves; each connection stays with one worker",
		Citation: "https://github.com/express-rate-limit/express-rate-limit/issues/354",
		key: func(r *http.Request, key string) string {
			last := byte(0)
			if n := len(r.RemoteAddr); n > 0 {
				last = r.RemoteAddr[n-1]
			}
			// The ports of one client are mostly even, or mostly odd.
			return key + " worker " + strconv.Itoa(int(last)%4/2)
		}},
}
