package live

import (
	"net/http"
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
)

// TestNginxThatDeniesByHangingUp: nginx closes the connection for status 444. That is no answer, but a denial
// if the user declares it so.
func TestNginxThatDeniesByHangingUp(t *testing.T) {
	t.Parallel()
	urls := nginx(t, zone{Name: "silent", Rate: "10r/s", Args: "burst=20 nodelay", Status: 444})
	declared := trial{scenario: "burst", url: urls["silent"], right: "leaky-bucket,rate=10/s,burst=21",
		turns: true,
		sets:  []string{"denied.unanswered=true"}, wrong: []string{"leaky-bucket,rate=10/s,burst=20"}}
	declared.judged(t)
	for p := (patience{}); p.left(); { // if the machine stands still, more is admitted and nothing shown
		r := run(t, read(t, "burst", urls["silent"], declared.right), "")
		if slices.ContainsFunc(r.Claims,
			func(c result.Claim) bool { return c.Kind == result.ClaimAnswered }) {
			return
		}
	}
	t.Error("a target that only hangs up was never accused of it")
}

// zone is one limit_req of nginx.
type zone struct {
	Name, Rate, Args string
	// Status is limit_req_status; 0 for nginx's default.
	Status int
	// Key is what distinguishes clients; "" for their X-Api-Key.
	Key string
}

// nginx starts nginx with two workers that share the zones, as on a real machine. It returns the URL of each
// zone by name.
func nginx(t testing.TB, zones ...zone) map[string]string {
	t.Helper()
	return nginxOf(t, 2, zones...)
}

// nginxOf is nginx with a given number of workers.
func nginxOf(t testing.TB, workers int, zones ...zone) map[string]string {
	t.Helper()
	addr := start(t, program{
		binary: "nginx", template: "nginx.conf.tmpl",
		params: map[string]any{"Workers": workers, "Limits": zones},
		args:   func(config string, _ int) []string { return []string{"-e", "stderr", "-c", config} },
	})
	urls := map[string]string{}
	for _, z := range zones {
		urls[z.Name] = "http://" + addr + "/" + z.Name
	}
	return urls
}

// limit_req without delays is a leaky bucket. It keeps an excess in thousandths of a request, 0 for the first
// one. The excess falls at the rate and may reach burst. It is the level of a leaky bucket without the
// request itself, so burst=20 admits 21 at once. A whole number a second is exact except for the clock, which
// nginx reads in milliseconds once per turn of its event loop. (src/http/modules/ngx_http_limit_req_module.c,
// ngx_http_limit_req_lookup; the same in 1.22 and 1.28.)
func TestNginxImplementsALeakyBucket(t *testing.T) {
	t.Parallel()
	urls := nginx(t,
		zone{Name: "nodelay", Rate: "10r/s", Args: "burst=20 nodelay", Status: http.StatusTooManyRequests},
		zone{Name: "fast", Rate: "100r/s", Args: "burst=20 nodelay", Status: http.StatusTooManyRequests},
		zone{Name: "noburst", Rate: "10r/s", Status: http.StatusTooManyRequests},
		zone{Name: "untold", Rate: "50r/s", Args: "burst=9 nodelay"},
		zone{Name: "minute", Rate: "1000r/m", Args: "burst=4 nodelay", Status: http.StatusTooManyRequests},
	)
	for name, c := range map[string]struct {
		trial
		status int
	}{
		"burst without delay": {trial{scenario: "burst", url: urls["nodelay"],
			right: "nginx:rate=10r/s,burst=20,nodelay", wrong: []string{
				"leaky-bucket,rate=10/s,burst=20", "leaky-bucket,rate=10/s,burst=22",
				"leaky-bucket,rate=8/s,burst=21", "leaky-bucket,rate=12/s,burst=21",
				"leaky-bucket-queue,rate=10/s,queue=20", "sliding-window-log,rate=21/2100ms",
				"fixed-window,rate=21/2100ms,align=first",
			}}, http.StatusTooManyRequests},
		"a rate of a minute, in thousandths": {trial{scenario: "sustained", url: urls["minute"],
			right: "nginx:rate=1000r/m,burst=4,nodelay", wrong: []string{
				"nginx:rate=1000r/m,burst=3,nodelay", "nginx:rate=1000r/m,burst=5,nodelay",
				"nginx:rate=800r/m,burst=4,nodelay", "nginx:rate=1200r/m,burst=4,nodelay",
			}}, http.StatusTooManyRequests},
		"no burst": {trial{scenario: "overload-10x", url: urls["noburst"],
			right: "nginx:rate=10r/s", wrong: []string{
				"leaky-bucket,rate=10/s,burst=2", "leaky-bucket,rate=8/s,burst=1",
				"leaky-bucket,rate=125/10s,burst=1", "sliding-window-log,rate=5/500ms",
			}}, http.StatusTooManyRequests},
		"the status nginx denies with unless told": {trial{scenario: "burst", url: urls["untold"],
			right: "nginx:rate=50r/s,burst=9,nodelay", wrong: []string{
				"leaky-bucket,rate=50/s,burst=9", "leaky-bucket,rate=50/s,burst=11",
			}}, http.StatusServiceUnavailable},
		"steady": {trial{scenario: "sustained", url: urls["fast"],
			right: "nginx:rate=100r/s,burst=20,nodelay",
			wrong: []string{
				"leaky-bucket,rate=80/s,burst=21", "leaky-bucket,rate=120/s,burst=21",
				"leaky-bucket,rate=100/s,burst=20", "leaky-bucket,rate=100/s,burst=22",
				"fixed-window,rate=100/1s,align=first", "sliding-window-log,rate=100/1s",
			}}, http.StatusTooManyRequests},
		"ten times its rate": {trial{scenario: "overload-10x", url: urls["fast"],
			right: "nginx:rate=100r/s,burst=20,nodelay", wrong: []string{
				"leaky-bucket,rate=80/s,burst=21", "leaky-bucket,rate=120/s,burst=21",
				"leaky-bucket,rate=100/s,burst=20", "leaky-bucket,rate=100/s,burst=22",
				"sliding-window-counter,rate=100/1s,align=unknown", "sliding-window-log,rate=100/1s",
			}}, http.StatusTooManyRequests},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.turns = true
			r := c.judged(t)
			for _, o := range r.Timeline.Observations {
				if o.Status != http.StatusOK && o.Status != c.status {
					t.Fatalf("request #%d: got status %d, want 200 or %d", o.Seq, o.Status, c.status)
				}
			}
		})
	}
}

// nginx denies with 503 by default. That is a denial, but not with the expected status.
func TestNginxDeniesWith503UnlessTold(t *testing.T) {
	t.Parallel()
	urls := nginx(t, zone{Name: "untold", Rate: "50r/s", Args: "burst=9 nodelay"})
	for p := (patience{}); ; {
		more := p.left()
		still := watch(t)
		r := run(t, read(t, "burst", urls["untold"], "leaky-bucket,rate=50/s,burst=10",
			"expect.denied_status=[429]"), "")
		longest := still()
		verdicts := map[string]result.Verdict{}
		for _, c := range r.Claims {
			verdicts[c.ID] = c.Verdict
		}
		if more && (verdicts["conformance"] == result.Inconclusive ||
			verdicts["conformance"] == result.Fail && standsStill(t, r, longest)) {
			continue
		}
		if verdicts["conformance"] != result.Pass || verdicts["denied-status"] != result.Fail ||
			r.Verdict != result.Fail {
			t.Errorf("got %s, want conformance to pass and the status to fail", line(&r))
		}
		return
	}
}

// limit_req with delays is a leaky bucket as a queue. An admitted request waits until the excess above
// delay=N (default 0) has fallen. A request is denied if the excess is over burst. With delay=8, the first
// request and eight more pass at once.
//
// A waiting request may have been decided late, so nothing proves that a queue has too many places (queue=19
// here).
//
// There is one worker. A delay counts from the clock that a worker has read, while the excess counts from the
// newest clock of any worker. So a worker that stands still in between releases its request that much too
// early. With two workers on a busy machine, one release in some thousands came 50 ms early: 10 ms after the
// one before it instead of 20.
func TestNginxDelaysAreAQueue(t *testing.T) {
	t.Parallel()
	urls := nginxOf(t, 1,
		zone{Name: "delay", Rate: "50r/s", Args: "burst=20", Status: http.StatusTooManyRequests},
		zone{Name: "two-stage", Rate: "50r/s", Args: "burst=20 delay=8", Status: http.StatusTooManyRequests},
	)
	for name, c := range map[string]trial{
		"all wait, burst": {scenario: "burst", url: urls["delay"],
			right: "nginx:rate=50r/s,burst=20", wrong: []string{
				"leaky-bucket-queue,rate=50/s,queue=21", "leaky-bucket-queue,rate=40/s,queue=20",
				"fixed-window,rate=50/1s,align=first",
			}},
		"all wait, ten times the rate": {scenario: "overload-10x", url: urls["delay"],
			right: "nginx:rate=50r/s,burst=20", wrong: []string{
				"leaky-bucket-queue,rate=50/s,queue=21", "leaky-bucket-queue,rate=40/s,queue=20",
				"leaky-bucket-queue,rate=60/s,queue=20", "fixed-window,rate=50/1s,align=first",
			}},
		"eight pass at once, burst": {scenario: "burst", url: urls["two-stage"],
			right: "nginx:rate=50r/s,burst=20,delay=8", wrong: []string{
				"leaky-bucket-queue,rate=50/s,queue=21,undelayed=8",
				"leaky-bucket-queue,rate=50/s,queue=20,undelayed=7", "leaky-bucket-queue,rate=50/s,queue=20",
				"fixed-window,rate=50/1s,align=first",
			}},
		"eight pass at once, ten times the rate": {scenario: "overload-10x", url: urls["two-stage"],
			right: "nginx:rate=50r/s,burst=20,delay=8", wrong: []string{
				"leaky-bucket-queue,rate=50/s,queue=21,undelayed=8",
				"leaky-bucket-queue,rate=50/s,queue=20,undelayed=7",
				"leaky-bucket-queue,rate=40/s,queue=20,undelayed=8",
				"leaky-bucket-queue,rate=60/s,queue=20,undelayed=8",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.turns = true
			r := c.judged(t)
			for _, spec := range []string{"leaky-bucket-queue,rate=50/s,queue=19,undelayed=8",
				"leaky-bucket-queue,rate=50/s,queue=30,undelayed=8"} {
				if other := again(t, r, spec); other.Verdict == result.Pass {
					t.Errorf("got %s, want no PASS", line(&other))
				}
			}
		})
	}
}

// TestNginxKeyedByAddress: a limit that counts by address is declared as a limit of each key. The first run
// shows no difference. When the second run begins, part of the quota is used, and the first message says why.
func TestNginxKeyedByAddress(t *testing.T) {
	t.Parallel()
	url := nginx(t, zone{Name: "address", Rate: "10r/s", Args: "burst=20 nodelay",
		Status: http.StatusTooManyRequests, Key: "$binary_remote_addr"})["address"]
	const spec = "leaky-bucket,rate=10/s,burst=21"
	for p := (patience{}); p.left(); {
		run(t, read(t, "burst", url, spec), "")
		r := run(t, read(t, "burst", url, spec), "")
		if r.Verdict != result.Fail {
			continue // the machine was so slow that no quota was in use
		}
		if d := r.Judgement.Diagnosis; d == nil || d.Kind != result.SharedQuota {
			t.Errorf("%s: diagnosis %v, hint %q, want a shared quota", line(&r), d, r.Judgement.Hint)
		}
		return
	}
	t.Error("no second run failed")
}
