package lab

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// targetRulesOf are a route with a limit of its own, an exempt one, and a tier.
func targetRulesOf(t *testing.T) []Rule {
	return []Rule{
		{Path: "/login", Limit: parse(t, "fixed-window,rate=3/10s")},
		{Path: "/healthz"},
		{Path: "/metrics", Header: map[string]string{"X-Role": "operator"}},
		{Method: "PUT", Limit: parse(t, "fixed-window,rate=4/10s")},
		{Header: map[string]string{"X-Tier": "barred"}, Barred: true},
		{Header: map[string]string{"X-Tier": "gold"}, Limit: parse(t, "fixed-window,rate=20/10s")},
	}
}

// happens makes something happen to the target of the session.
func happens(what timeline.Action, limit string) step {
	return func(s *session) string {
		if err := s.h.(*Target).Do(what, limit); err != nil {
			return err.Error()
		}
		return ""
	}
}

var (
	restart   = happens(timeline.Restart, "")
	reload    = happens(timeline.Reload, "")
	storeDown = happens(timeline.StoreDown, "")
	storeUp   = happens(timeline.StoreUp, "")
)

// reloadWith loads a configuration with another limit.
func reloadWith(text string) step { return happens(timeline.Reload, text) }

// alternating sends n requests over connections from two ports in turn, and returns how many were allowed.
func alternating(n int) step {
	return func(s *session) string {
		allowed := 0
		for i := range n {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("X-Api-Key", s.request.key)
			r.RemoteAddr = fmt.Sprintf("192.0.2.1:%d", 2000+i%2*2)
			w := httptest.NewRecorder()
			s.h.ServeHTTP(w, r)
			if w.Code == http.StatusOK {
				allowed++
			}
		}
		return fmt.Sprint(allowed)
	}
}

// eventSights show the faults of events, rules and methods.
var eventSights = []sight{
	{fault: "restart-forgets", spec: window, steps: do(burst(20), restart, burst(20)), right: "10, 0",
		wrong: "10, 10"},
	{fault: "restart-forgets", spec: window, ruled: true,
		steps: do(asking("/login"), burst(20), restart, burst(20)), right: "3, 0", wrong: "3, 3"},
	{fault: "reload-forgets", spec: window, steps: do(burst(20), reload, burst(20)), right: "10, 0",
		wrong: "10, 10"},
	{fault: "reload-forgets", spec: window, steps: do(burst(20), reloadWith("fixed-window,rate=15/10s"),
		burst(20)), right: "10, 5", wrong: "10, 15"},
	{fault: "reload-ignored", spec: window, steps: do(reloadWith("fixed-window,rate=5/10s"), burst(20)),
		right: "5", wrong: "10"},
	{fault: "reload-live-keys-keep", spec: window,
		steps: do(one, wait(10*time.Second), reloadWith("fixed-window,rate=5/10s"), burst(20), named("new"),
			burst(20)),
		right: "5, 5", wrong: "10, 5"},
	{fault: "outage-answers-500", spec: window, steps: do(storeDown, one, status, storeUp, burst(20)),
		right: "200, 10", wrong: "500, 10"},
	{fault: "outage-denies", spec: window, steps: do(storeDown, one, status, storeUp, burst(20)),
		right: "200, 10", wrong: "429, 10"},
	{fault: "outage-hangs", spec: window, steps: do(storeDown, one, status, took), right: "200, 0s",
		wrong: "200, 3s"},
	{fault: "outage-queues", spec: window, steps: do(storeDown, left(4), storeUp, burst(20)),
		right: "10", wrong: "6"},
	{fault: "outage-forgets", spec: window, steps: do(burst(20), storeDown, burst(5), storeUp, burst(20)),
		right: "10, 5, 0", wrong: "10, 5, 10"},
	{fault: "outage-stays-open", spec: window, steps: do(burst(20), storeDown, burst(5), storeUp, burst(20)),
		right: "10, 5, 0", wrong: "10, 5, 20"},
	{fault: "route-limit-ignored", spec: window, ruled: true,
		steps: do(asking("/login"), burst(20), asking("/"), burst(20)), right: "3, 10", wrong: "10, 0"},
	{fault: "routes-share-counter", spec: window, ruled: true,
		steps: do(asking("/login"), burst(20), asking("/"), burst(20)), right: "3, 10", wrong: "3, 0"},
	{fault: "route-by-raw-path", spec: window, ruled: true,
		steps: do(asking("/login"), burst(20), asking("//LOGIN/"), burst(20), asking("/%6cogin"), burst(20)),
		right: "3, 0, 0", wrong: "3, 10, 0"},
	{fault: "tier-ignored", spec: window, ruled: true,
		steps: do(with("X-Tier", "gold"), burst(30), with("X-Tier", "silver"), burst(20)),
		right: "20, 10", wrong: "10, 0"},
	{fault: "zero-means-unlimited", spec: window, ruled: true,
		steps: do(with("X-Tier", "barred"), burst(20), says("RateLimit-Policy"), restart, burst(20),
			says("Retry-After"), with("X-Tier", ""), burst(20)),
		right: `0, "default";q=0, 0, none, 10`, wrong: "20, none, 20, none, 10"},
	{fault: "exempt-limited", spec: window, ruled: true, steps: do(asking("/healthz"), burst(20)),
		right: "20", wrong: "10"},
	{fault: "exempt-counted", spec: window, ruled: true,
		steps: do(asking("/healthz"), burst(20), says("X-RateLimit-Limit"), asking("/"), burst(20)),
		right: "20, none, 10", wrong: "20, none, 0"},
	{fault: "per-worker-counters", spec: window, steps: do(burst(20), named("two"), alternating(40)),
		right: "10, 10", wrong: "10, 20"},
	{fault: "head-unlimited", spec: window, steps: do(by("HEAD"), burst(20), by("GET"), burst(20)),
		right: "10, 0", wrong: "20, 10"},
	{fault: "head-counted-twice", spec: window, steps: do(by("HEAD"), burst(20)), right: "10", wrong: "5"},
	{fault: "head-counted-twice", spec: window + ",charge=completion", steps: do(by("HEAD"), burst(20)),
		right: "10", wrong: "5"},
	{fault: "head-without-fields", spec: window,
		steps: do(by("HEAD"), burst(11), says("Retry-After"), says("RateLimit")),
		right: `10, 10, "default";r=0;t=10`, wrong: "10, none, none"},
}

// TestReloadCarriesWhatWasUsed: units used before a reload count after it. A smaller quota is then used up,
// and a larger one has the difference left.
func TestReloadCarriesWhatWasUsed(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{window, "fixed-window,rate=3/10s", "6, 0, 3"},
		{window, "fixed-window,rate=15/10s", "6, 9, 15"},
		{window, "token-bucket,rate=1/s,burst=8", "6, 2, 8"},
		{"sliding-window-log,rate=10/10s,count=all", "sliding-window-log,rate=15/10s,count=all", "6, 9, 15"},
		{"token-bucket,rate=1/s,burst=10,ban=10s", "token-bucket,rate=1/s,burst=8,ban=10s", "6, 2, 8"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := open(t, Options{Limit: parse(t, c.from)})
			if got := run(h, burst(6), reloadWith(c.to), burst(20), named("new"), burst(20)); got != c.want {
				t.Errorf("reload %s: got %s, want %s", c.to, got, c.want)
			}
		})
	}
}

// TestRulesAreCountedApart: the first rule that matches counts. One store keeps the partitions of all rules
// apart.
func TestRulesAreCountedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, Options{Limit: parse(t, window), Rules: targetRulesOf(t)})
		got := run(h, asking("/login"), burst(20), by("PUT"), burst(20), asking("/"), burst(20), by("GET"),
			burst(20), asking("/./x/../LOGIN/?a"), burst(20))
		if want := "3, 0, 4, 10, 0"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
