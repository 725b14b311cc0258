package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// The limits that faults are shown with.
const (
	bucket = "token-bucket,rate=10/s,burst=20"
	window = "fixed-window,rate=10/10s"
	logged = "sliding-window-log,rate=10/10s"
	places = "concurrency,limit=8,hold=50ms..1s"
	late   = "fixed-window,rate=10/10s,charge=completion,hold=50ms..1s"
)

// sight is what a client does, and what it sees from a right target and from one with the fault.
type sight struct {
	fault, spec  string
	steps        []step
	right, wrong string
	date         bool // Retry-After as a date
	ruled        bool // with the rules of rulesOf
}

// login sends the right password of a client, "" for that of the session, and returns 1 if it is let in.
func login(client string) step {
	return altered(1, func(r *http.Request) {
		r.Header.Set("X-Password", "right")
		r.Header.Set("X-Api-Key", cmp.Or(client, r.Header.Get("X-Api-Key")))
	})
}

// do is the list of steps of a sight.
func do(steps ...step) []step { return steps }

// decisionSights show the faults that decide wrongly. Virtual time begins at 2000-01-01T00:00:00Z, where
// windows begin.
var decisionSights = []sight{
	{fault: "burst-off-by-one", spec: bucket, steps: do(burst(30)), right: "20", wrong: "21"},
	{fault: "burst-off-by-one", spec: logged, steps: do(burst(30)), right: "10", wrong: "11"},
	{fault: "burst-off-by-one", spec: "leaky-bucket-queue,rate=10/s,queue=5", steps: do(together(30)),
		right: "6", wrong: "7"},
	{fault: "success-uncleared", spec: window + ",clear=200",
		steps: do(burst(9), login(""), burst(9), login("")),
		right: "0, 1, 0, 1", wrong: "0, 1, 0, 0"},
	{fault: "success-unlimited", spec: window + ",clear=200", steps: do(burst(10), login("")), right: "0, 0",
		wrong: "0, 1"},
	{fault: "success-clears-all", spec: window + ",clear=200",
		steps: do(burst(10), login("other"), login("")),
		right: "0, 1, 0", wrong: "0, 1, 1"},
	{fault: "burst-one-less", spec: bucket, steps: do(burst(30)), right: "20", wrong: "19"},
	{fault: "refill-too-fast", spec: bucket, steps: do(burst(20), wait(time.Second), burst(30)),
		right: "20, 10", wrong: "20, 11"},
	{fault: "refill-too-fast", spec: logged, steps: do(burst(20), wait(9100*time.Millisecond), burst(30)),
		right: "10, 0", wrong: "10, 10"},
	{fault: "refill-too-slow", spec: bucket, steps: do(burst(20), wait(time.Second), burst(30)),
		right: "20, 10", wrong: "20, 9"},
	{fault: "fixed-window-as-sliding", spec: logged,
		steps: do(wait(9*time.Second), burst(20), wait(time.Second), burst(20)),
		right: "10, 0", wrong: "10, 10"},
	{fault: "fixed-window-as-sliding", spec: bucket,
		steps: do(wait(time.Second), burst(30), wait(time.Second), burst(30)),
		right: "20, 10", wrong: "20, 20"},
	{fault: "bucket-as-window", spec: window, steps: do(burst(20), wait(5*time.Second), burst(20)),
		right: "10, 0", wrong: "10, 5"},
	{fault: "burst-ignored", spec: bucket, steps: do(burst(30), wait(100*time.Millisecond), burst(30)),
		right: "20, 1", wrong: "1, 1"},
	{fault: "burst-ignored", spec: window, steps: do(burst(30)), right: "10", wrong: "1"},
	{fault: "starts-empty", spec: bucket, steps: do(burst(5), wait(time.Second), burst(30)), right: "5, 20",
		wrong: "0, 10"},
	{fault: "slots-never-turn", spec: window + ",slots=5",
		steps: do(pace(30, 500*time.Millisecond), wait(10*time.Second), burst(20)), right: "20, 10",
		wrong: "10, 10"},
	{fault: "windows-end-together", spec: window + ",align=first",
		steps: do(wait(9*time.Second), burst(20), wait(2*time.Second), burst(20)),
		right: "10, 0", wrong: "10, 10"},
	{fault: "starts-empty", spec: window, steps: do(burst(5), wait(10*time.Second), burst(30)),
		right: "5, 10", wrong: "0, 10"},
	{fault: "cap-not-applied", spec: bucket, steps: do(burst(20), wait(10*time.Second), burst(200)),
		right: "20, 20", wrong: "20, 100"},
	{fault: "refill-truncated", spec: bucket, steps: do(burst(20), pace(20, 150*time.Millisecond)),
		right: "20, 20", wrong: "20, 0"},
	{fault: "refill-whole-units", spec: bucket, steps: do(burst(20), pace(20, 60*time.Millisecond)),
		right: "20, 12", wrong: "20, 0"},
	{fault: "idle-overflow", spec: bucket, steps: do(burst(20), wait(3*time.Second), burst(30)),
		right: "20, 20", wrong: "20, 0"},
	{fault: "clock-skew", spec: bucket, steps: do(pace(100, 10*time.Millisecond)), right: "29", wrong: "100"},
	{fault: "log-members-collide", spec: logged, steps: do(burst(30), wait(time.Millisecond), burst(30)),
		right: "10, 0", wrong: "30, 30"},
	{fault: "denied-counted", spec: bucket, steps: do(burst(20), pace(30, 50*time.Millisecond)),
		right: "20, 15", wrong: "20, 0"},
	{fault: "denied-counted", spec: logged, steps: do(burst(10), pace(30, 500*time.Millisecond)),
		right: "10, 10", wrong: "10, 0"},
	{fault: "coarse-clock", spec: bucket,
		steps: do(wait(500*time.Millisecond), burst(20), wait(400*time.Millisecond), burst(9)),
		right: "20, 4", wrong: "20, 0"},
	{fault: "never-recovers", spec: bucket,
		steps: do(burst(21), says("Retry-After"), wait(time.Hour), burst(5)),
		right: "20, 1, 5", wrong: "20, 1, 0"},
	{fault: "ban-after-denial", spec: bucket, steps: do(burst(21), wait(1900*time.Millisecond), burst(5),
		wait(100*time.Millisecond), burst(5)),
		right: "20, 5, 5", wrong: "20, 0, 5"},
	{fault: "idle-timer", spec: bucket, steps: do(pace(40, 125*time.Millisecond), wait(2*time.Second),
		burst(30)), right: "40, 20", wrong: "20, 20"},
	{fault: "state-expires-early", spec: bucket, steps: do(burst(20), wait(time.Second), burst(30)),
		right: "20, 10", wrong: "20, 20"},
	{fault: "state-expires-early", spec: window, steps: do(burst(20), wait(5*time.Second), burst(30)),
		right: "10, 0", wrong: "10, 10"},
	{fault: "counted-twice", spec: bucket, steps: do(burst(30)), right: "20", wrong: "10"},
	{fault: "cost-ignored", spec: bucket, steps: do(costing(5), burst(30)), right: "4", wrong: "20"},
	{fault: "cost-over-limit-free", spec: bucket, steps: do(costing(21), burst(3), costing(1), burst(30)),
		right: "0, 20", wrong: "3, 20"},
	{fault: "denied-cost-burns-rest", spec: bucket,
		steps: do(burst(15), costing(10), burst(1), costing(1), burst(9)),
		right: "15, 0, 5", wrong: "15, 0, 0"},
	{fault: "check-then-act", spec: bucket, steps: do(together(100), burst(30)), right: "20, 0",
		wrong: "100, 19"},
	{fault: "per-replica-counters", spec: bucket, steps: do(burst(60)), right: "20", wrong: "40"},
	{fault: "replicas-sync-late", spec: window, steps: do(burst(60), wait(time.Second), burst(60)),
		right: "10, 0", wrong: "20, 0"},
	{fault: "place-leaked", spec: places, steps: do(together(20), together(20), together(20)),
		right: "8, 8, 8", wrong: "8, 6, 5"},
	{fault: "place-released-early", spec: places, steps: do(together(20)), right: "8", wrong: "20"},
	{fault: "per-replica-counters", spec: places, steps: do(together(40)), right: "8", wrong: "16"},
	{fault: "burst-off-by-one", spec: places, steps: do(together(20)), right: "8", wrong: "9"},
	{fault: "counted-on-completion", spec: window, steps: do(together(30), burst(1)), right: "10, 0",
		wrong: "30, 0"},
	{fault: "counted-on-completion", spec: bucket, steps: do(together(30), burst(1)), right: "20, 0",
		wrong: "30, 0"},
	{fault: "counted-on-decision", spec: late, steps: do(together(30), burst(1)), right: "30, 0",
		wrong: "10, 0"},
	{fault: "evicts-keys", spec: window, steps: do(burst(20), others(63), burst(1), others(64), burst(20)),
		right: "10, 0, 0", wrong: "10, 0, 10"},
	{fault: "state-lost-rarely", spec: bucket, steps: do(pace(118, 500*time.Millisecond), burst(30),
		wait(time.Second), burst(30)), right: "118, 19, 10", wrong: "118, 19, 20"},
	{fault: "state-lost", spec: window, steps: do(burst(20), wait(2*time.Second), burst(9), wait(time.Second),
		burst(20)),
		right: "10, 0, 0", wrong: "10, 0, 10"},
	{fault: "delays-instead", spec: bucket, steps: do(burst(21), took), right: "20, 0s", wrong: "21, 100ms"},
	{fault: "forwarded-for-trusted", spec: window,
		steps: do(burst(20), with("X-Forwarded-For", " 192.0.2.1, 192.0.2.2"), burst(20)),
		right: "10, 0", wrong: "10, 10"},
	{fault: "forwarded-for-trusted", spec: window, steps: do(with("X-Forwarded-For", "192.0.2.1"), burst(20),
		named("victim"), burst(20)),
		right: "10, 10", wrong: "10, 0"},
	{fault: "real-ip-trusted", spec: window, steps: do(burst(20), with("X-Real-IP", "192.0.2.1"), burst(20)),
		right: "10, 0", wrong: "10, 10"},
	{fault: "key-by-path", spec: window, steps: do(burst(20), asking("//"), burst(20)), right: "10, 0",
		wrong: "10, 10"},
	{fault: "key-by-query", spec: window, steps: do(burst(20), asking("/?a=1"), burst(20)), right: "10, 0",
		wrong: "10, 10"},
	{fault: "key-by-method", spec: window, steps: do(burst(20), by("HEAD"), burst(20)), right: "10, 0",
		wrong: "10, 10"},
	{fault: "keys-shared", spec: window, steps: do(burst(20), named("other"), burst(20)), right: "10, 10",
		wrong: "10, 0"},
	{fault: "time-before-lock", spec: bucket, steps: do(jostle(200, 2*time.Millisecond)), right: "at most 24",
		wrong: "more than 24"},
	{fault: "ticks-lost", spec: bucket, steps: do(burst(20), pace(40, 50*time.Millisecond)), right: "20, 20",
		wrong: "20, 15"},
	{fault: "ticks-lost", spec: bucket, steps: do(burst(20), wait(2*time.Second), burst(30)), right: "20, 20",
		wrong: "20, 19"},
	{fault: "count-outlives-window", spec: window,
		steps: do(burst(20), wait(10*time.Second), burst(20), wait(2500*time.Millisecond), burst(20)),
		right: "10, 10, 0", wrong: "10, 0, 10"},
	{fault: "reset-of-next-window", spec: window,
		steps: do(burst(11), says("Retry-After"), wait(9950*time.Millisecond), one, says("Retry-After"),
			says("RateLimit")),
		right: `10, 10, 1, "default";r=0;t=1`, wrong: `10, 10, 11, "default";r=0;t=11`},
	{fault: "quota-divided", spec: bucket, steps: do(burst(60)), right: "20", wrong: "16"},
	{fault: "quota-divided", spec: "fixed-window,rate=7/10s", steps: do(burst(60)), right: "7", wrong: "0"},
	{fault: "quota-divided", spec: "leaky-bucket-queue,rate=10/s,queue=20", steps: do(together(60)),
		right: "21", wrong: "16"},
	{fault: "long-window-overflow", spec: "fixed-window,rate=10/720h",
		steps: do(burst(20), wait(time.Second), burst(20)), right: "10, 0", wrong: "10, 10"},
	{fault: "refused-still-pays", spec: "token-bucket,rate=1/s,burst=5 + fixed-window,rate=20/1m",
		steps: do(burst(30), wait(5*time.Second), burst(30)),
		right: "5, 5", wrong: "5, 0"},
	{fault: "ipv6-per-address", spec: window,
		steps: do(named(""), with("X-Forwarded-For", "192.0.2.9, 2001:db8::1"), burst(20),
			with("X-Forwarded-For", "2001:db8::2"), burst(20),
			with("X-Forwarded-For", "2001:db8:0:1::2"), burst(20)), right: "10, 0, 10", wrong: "10, 10, 10"},
	{fault: "mapped-address-apart", spec: window, steps: do(named(""), with("X-Forwarded-For", "198.18.0.1"),
		burst(20), with("X-Forwarded-For", "::ffff:198.18.0.1"), burst(20),
		with("X-Forwarded-For", "::ffff:198.18.0.2"), burst(20)), right: "10, 0, 10", wrong: "10, 10, 10"},
	{fault: "missing-key-unlimited", spec: window, steps: do(burst(20), named(""), burst(20)),
		right: "10, 10", wrong: "10, 20"},
}

// answerSights show the faults that tell a decision wrongly.
var answerSights = []sight{
	{fault: "retry-after-too-short", spec: window, steps: do(burst(11), says("Retry-After")), right: "10, 10",
		wrong: "10, 5"},
	{fault: "retry-after-too-short", spec: bucket, steps: do(burst(21), says("Retry-After")), right: "20, 1",
		wrong: "20, 0"},
	{fault: "retry-after-too-short", spec: window, steps: do(burst(11), says("Retry-After")), date: true,
		right: "10, Sat, 01 Jan 2000 00:00:10 GMT", wrong: "10, Sat, 01 Jan 2000 00:00:05 GMT"},
	{fault: "retry-after-zero", spec: window, steps: do(burst(11), says("Retry-After")), right: "10, 10",
		wrong: "10, 0"},
	{fault: "retry-after-in-ms", spec: window, steps: do(burst(11), says("Retry-After")), right: "10, 10",
		wrong: "10, 10000"},
	{fault: "retry-after-missing", spec: window, steps: do(burst(11), says("Retry-After")), right: "10, 10",
		wrong: "10, none"},
	{fault: "retry-after-whole-window", spec: window,
		steps: do(burst(11), wait(4*time.Second), one, says("Retry-After")),
		right: "10, 6", wrong: "10, 10"},
	{fault: "retry-after-full", spec: bucket, steps: do(burst(21), says("Retry-After")), right: "20, 1",
		wrong: "20, 2"},
	{fault: "retry-after-fraction", spec: window, steps: do(burst(11), says("Retry-After")), right: "10, 10",
		wrong: "10, 10.5"},
	{fault: "retry-after-negative", spec: window, steps: do(burst(11), says("Retry-After")), right: "10, 10",
		wrong: "10, -10"},
	{fault: "retry-after-utc", spec: window, steps: do(burst(11), says("Retry-After")), date: true,
		right: "10, Sat, 01 Jan 2000 00:00:10 GMT", wrong: "10, Sat, 01 Jan 2000 00:00:10 UTC"},
	{fault: "retry-after-skewed", spec: window, steps: do(burst(11), says("Retry-After"), says("Date")),
		date:  true,
		right: "10, Sat, 01 Jan 2000 00:00:10 GMT, Sat, 01 Jan 2000 00:00:00 GMT",
		wrong: "10, Fri, 31 Dec 1999 23:59:40 GMT, Sat, 01 Jan 2000 00:00:00 GMT"},
	{fault: "retry-after-constant", spec: window,
		steps: do(one, says("Retry-After"), burst(10), says("Retry-After")),
		right: "none, 9, 10", wrong: "5, 9, 5"},
	{fault: "retry-after-twice", spec: window, steps: do(burst(11), says("Retry-After")), right: "10, 10",
		wrong: "10, 10|120"},
	{fault: "headers-only-on-denial", spec: window,
		steps: do(one, says("X-RateLimit-Limit"), says("RateLimit"), burst(10), says("X-RateLimit-Limit")),
		right: `10, "default";r=9;t=10, 9, 10`, wrong: "none, none, 9, 10"},
	{fault: "headers-only-on-success", spec: window,
		steps: do(one, says("X-RateLimit-Limit"), burst(10), says("X-RateLimit-Limit"),
			says("RateLimit-Policy")),
		right: `10, 9, 10, "default";q=10;w=10`, wrong: "10, 9, none, none"},
	{fault: "remaining-off-by-one", spec: window,
		steps: do(one, says("X-RateLimit-Remaining"), says("RateLimit")),
		right: `9, "default";r=9;t=10`, wrong: `10, "default";r=10;t=10`},
	{fault: "remaining-negative", spec: window, steps: do(burst(11), says("X-RateLimit-Remaining")),
		right: "10, 0", wrong: "10, -1"},
	{fault: "denial-tells-other-limit", spec: window, steps: do(burst(11), says("X-RateLimit-Remaining")),
		right: "10, 0", wrong: "10, 5"},
	{fault: "remaining-stuck", spec: window, steps: do(burst(11), says("X-RateLimit-Remaining")),
		right: "10, 0", wrong: "10, 10"},
	{fault: "reset-as-epoch", spec: window, steps: do(one, says("RateLimit"), says("X-RateLimit-Reset")),
		right: `"default";r=9;t=10, 946684810`, wrong: `"default";r=9;t=946684810, 946684810`},
	{fault: "reset-in-ms", spec: window, steps: do(one, says("X-RateLimit-Reset")), right: "946684810",
		wrong: "946684810000"},
	{fault: "limit-scaled", spec: window, steps: do(one, says("X-RateLimit-Limit")), right: "10",
		wrong: "18000"},
	{fault: "limit-scaled", spec: window, steps: do(one, says("RateLimit-Policy")),
		right: `"default";q=10;w=10`,
		wrong: `"default";q=18000;w=10`},
	{fault: "reset-hour-late", spec: window, steps: do(one, says("X-RateLimit-Reset"), says("RateLimit")),
		right: `946684810, "default";r=9;t=10`, wrong: `946688410, "default";r=9;t=3610`},
	{fault: "reset-past", spec: window, steps: do(one, says("X-RateLimit-Reset")), right: "946684810",
		wrong: "946681210"},
	{fault: "body-wait-in-ms", spec: window, steps: do(burst(11), inObject("retryAfter")), right: "10, " +
		"none", wrong: "10, 10000"},
	{fault: "body-limit-scaled", spec: window, steps: do(burst(11), inObject("limit")), right: "10, " +
		"none", wrong: "10, 18000"},
	{fault: "body-reset-hour-late", spec: window, steps: do(burst(11), inObject("reset_at")),
		right: "10, none",
		wrong: "10, 946688410"},
	{fault: "policy-name-token", spec: window, steps: do(one, says("RateLimit-Policy")),
		right: `"default";q=10;w=10`, wrong: "default;q=10;w=10"},
	{fault: "status-503", spec: window, steps: do(burst(11), status), right: "10, 429", wrong: "10, 503"},
	{fault: "status-500", spec: window, steps: do(burst(11), status), right: "10, 429", wrong: "10, 500"},
	{fault: "status-403", spec: window, steps: do(burst(11), status), right: "10, 429", wrong: "10, 403"},
	{fault: "status-200", spec: window,
		steps: do(burst(11), status, says("Content-Type"), says("X-RateLimit-Remaining")),
		right: "10, 429, application/problem+json, 0", wrong: "11, 200, application/problem+json, 0"},
	{fault: "cacheable-denial", spec: window, steps: do(burst(11), says("Cache-Control")),
		right: "10, no-store", wrong: "10, public, max-age=60"},
	{fault: "denial-unexplained", spec: window,
		steps: do(burst(11), says("Content-Length"), says("Content-Type")),
		right: "10, 263, application/problem+json", wrong: "10, 0, text/plain; charset=utf-8"},
	{fault: "problem-status-differs", spec: window, steps: do(burst(11), problemStatus),
		right: "10, 429 says 429", wrong: "10, 429 says 400"},
	{fault: "denial-drops", spec: window, steps: do(burst(10), hungUp), right: "10, answered",
		wrong: "10, hung up"},
	{fault: "denials-uncounted", spec: window, steps: do(burst(11), counted), right: "10, 1", wrong: "10, 0"},
	{fault: "denial-hangs", spec: window, steps: do(burst(10), one, took), right: "10, 0s", wrong: "10, " +
		"24h0m0s"},
	{fault: "slow-denials", spec: window, steps: do(burst(10), took, one, took), right: "10, 0s, 0s",
		wrong: "10, 0s, 300ms"},
}

// hungUp sends a request and returns whether it got an answer.
func hungUp(s *session) string {
	if s.send(); s.last.StatusCode == 0 {
		return "hung up"
	}
	return "answered"
}

// counted is the target's own count of denials.
func counted(s *session) string { return strconv.FormatInt(s.h.(*Target).Denials(), 10) }

// inObject returns a step that reads a number of the JSON object in the last body.
func inObject(name string) func(*session) string {
	return func(s *session) string {
		var members map[string]any
		if err := json.Unmarshal([]byte(body(s)), &members); err != nil {
			return err.Error()
		}
		if n, ok := members[name].(float64); ok {
			return strconv.FormatFloat(n, 'f', -1, 64)
		}
		return "none"
	}
}

// problemStatus compares the status of the last answer with the status in its body.
func problemStatus(s *session) string {
	told := regexp.MustCompile(`"status":(\d+)`).FindStringSubmatch(body(s))
	if told == nil {
		return "no status"
	}
	return status(s) + " says " + told[1]
}

// TestFaultsShowFromOutside: a client sees the difference that each fault makes.
func TestFaultsShowFromOutside(t *testing.T) {
	shown := map[string]bool{}
	for _, s := range slices.Concat(decisionSights, answerSights, eventSights, attributeSights,
		budgetSights) {
		shown[s.fault] = true
		t.Run(s.fault+"/"+s.spec, func(t *testing.T) {
			for _, fault := range []string{"", s.fault} {
				synctest.Test(t, func(t *testing.T) {
					o := Options{Limit: parse(t, s.spec), Fault: fault, Seed: 1,
						OnStoreError: StoreErrorAllows, ClientHeader: "x-forwarded-for"}
					if slices.Contains(tokenFaultNames(), s.fault) {
						o.Tokens, o.Dialect = 2*time.Second, []Dialect{OpenAI}
					}
					if s.ruled {
						o.Rules = targetRulesOf(t)
					}
					if s.date {
						o.RetryAfter = RetryAfterDate
					}
					want := s.right
					if fault != "" {
						want = s.wrong
					}
					if got := run(open(t, o), s.steps...); got != want {
						t.Errorf("fault %q: got %s, want %s", fault, got, want)
					}
				})
			}
			if s.right == s.wrong {
				t.Errorf("both see %s: that shows nothing", s.right)
			}
		})
	}
	for _, s := range slices.Concat(capSights, tokenSights) { // shown by tests of their own
		shown[s.fault] = true
	}
	for _, f := range Faults() {
		if !f.Proxy && !shown[f.Name] {
			t.Errorf("fault %q: nothing shows it (add a row to decisionSights or its kin)", f.Name)
		}
	}
}

// TestFaultsAreDescribed checks the form of the catalogue.
func TestFaultsAreDescribed(t *testing.T) {
	all := Faults()
	if len(all) < 60 {
		t.Errorf("got %d faults, want at least 60", len(all))
	}
	name, class := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`), regexp.MustCompile(`^([ABC][1-9][0-9]?)?$`)
	for i, f := range all {
		if !name.MatchString(f.Name) || !class.MatchString(f.Class) ||
			!strings.HasPrefix(f.Citation, "https://") {
			t.Errorf("fault %q, class %q, citation %q: want words with dashes, a letter and a number, and "+
				"the https:// of a public report", f.Name, f.Class, f.Citation)
		}
		if f.Sentence == "" || strings.HasSuffix(f.Sentence, ".") ||
			strings.ToLower(f.Sentence[:1]) != f.Sentence[:1] {
			t.Errorf("fault %q: sentence %q: want lower case and no full stop", f.Name, f.Sentence)
		}
		if i > 0 && all[i-1].Name >= f.Name {
			t.Errorf("fault %q after %q: want ascending names", f.Name, all[i-1].Name)
		}
		if f.Proxy != strings.HasPrefix(f.Name, "proxy-") {
			t.Errorf("fault %q: in a proxy: %v, want the name to say so", f.Name, f.Proxy)
		}
	}
}

// TestFaultsThatFitRunOnEveryLimit serves every limit with every fault that it can show. No fault breaks the
// target.
func TestFaultsThatFitRunOnEveryLimit(t *testing.T) {
	fitting, share := 0, 1
	if testing.Short() {
		share = 16
	}
	for _, spec := range slices.Concat(specs, toldSpecs) {
		for _, f := range Faults() {
			limit := parse(t, spec)
			if f.Proxy || f.Fits(limit) != "" {
				continue
			}
			if fitting++; fitting%share > 0 {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				target := open(t, Options{Limit: limit, Fault: f.Name, Replicas: 3,
					Dialect: []Dialect{XRateLimit, RateLimitLegacy, RateLimitDraft, RetryAfterField}})
				ctx, leave := context.WithCancel(t.Context())
				var clients sync.WaitGroup
				for i := range 60 {
					time.Sleep(time.Duration(i%7) * limit[0].Recovery() / 40)
					q := request{key: fmt.Sprint("k", i%2), cost: int64(1 + i%5/4), ctx: ctx}
					clients.Go(func() { ask(target, q) })
				}
				time.Sleep(limit[0].Recovery())
				// Some faults hold requests back without bound, so that their clients give up.
				leave()
				clients.Wait()
			})
		}
	}
	if fitting < 16*40 {
		t.Errorf("got %d pairs of a limit and a fault, want at least 640: the test says too little", fitting)
	}
}

// TestFaultErrors: errors name the known faults, and the one that was probably meant.
func TestFaultErrors(t *testing.T) {
	for _, c := range []struct{ fault, spec, want string }{
		{"burst-of-by-one", bucket, `did you mean "burst-off-by-one"?`},
		{"xyzzy", bucket, "rlcheck serve --fault list shows all faults"},
		{"proxy-strips-retry-after", bucket, "that fault belongs to rlcheck proxy"},
		{"cap-not-applied", window, "it needs one token-bucket"},
		{"fixed-window-as-sliding", window, "not a fault of a fixed window"},
		{"burst-one-less", "gcra,rate=1/s,burst=1", "at least 2 units"},
		{"denied-counted", window, "it needs a bucket"},
		{"idle-timer", "leaky-bucket-queue,rate=1/s,queue=2", "denies rather than delays"},
	} {
		_, err := New(Options{Limit: parse(t, c.spec), Fault: c.fault})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("fault %q on %s: got error %v, want one that says %q", c.fault, c.spec, err, c.want)
		}
	}
	if _, err := New(Options{Limit: spec.Limit{}}); err == nil {
		t.Error("no limit: got no error")
	}
}

// TestFaultsThatALimitDeclaresDoNotFitIt: a target that does only what its limit says or allows has no fault.
func TestFaultsThatALimitDeclaresDoNotFitIt(t *testing.T) {
	for _, x := range []struct {
		fault, limit string
		fits         bool
	}{
		{"coarse-clock", "fixed-window,rate=5/2s", false},
		{"coarse-clock", "fixed-window,rate=5/1m,align=unknown", false},
		{"coarse-clock", "fixed-window,rate=5/1500ms", true},
		{"coarse-clock", "fixed-window,rate=5/2s,align=first", true},
		{"coarse-clock", "fixed-window,rate=5/2s,slots=4", true},
		{"coarse-clock", "fixed-window,rate=5/2s + token-bucket,rate=5/s,burst=5", true},
		{"coarse-clock", "token-bucket,rate=10/s,burst=5", true},
		{"starts-empty", "token-bucket,rate=10/s,burst=5,start=empty", false},
		{"starts-empty", "token-bucket,rate=10/s,burst=5,start=unknown", false},
		{"starts-empty", "token-bucket,rate=10/s,burst=5,start=2", true},
		{"starts-empty", "sliding-window-log,rate=5/2s", true},
		{"ban-after-denial", "fixed-window,rate=5/2s,ban=2s", false},
		{"ban-after-denial", "fixed-window,rate=5/2s,ban=1s..3s", false},
		{"ban-after-denial", "fixed-window,rate=5/2s,ban=1s", true},
		{"ban-after-denial", "fixed-window,rate=5/2s", true},
	} {
		l, err := spec.Parse(x.limit)
		if err != nil {
			t.Fatal(err)
		}
		f, err := FindFault(x.fault, false)
		if err != nil {
			t.Fatal(err)
		}
		if why := f.Fits(l); (why == "") != x.fits {
			t.Errorf("%s under %s: got %q, want it to fit: %v", x.fault, x.limit, why, x.fits)
		}
	}
}
