package live

import (
	"net/http"
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestNginxThatDeniesByHangingUp: nginx closes the connection for the status 444. That is no answer, and a
// denial for who declares it.
func TestNginxThatDeniesByHangingUp(t *testing.T) {
	t.Parallel()
	urls := nginx(t, zone{Name: "silent", Rate: "10r/s", Args: "burst=20 nodelay", Status: 444})
	declared := trial{scenario: "burst", url: urls["silent"], right: "leaky-bucket,rate=10/s,burst=21",
		turns: true,
		sets:  []string{"denied.unanswered=true"}, wrong: []string{"leaky-bucket,rate=10/s,burst=20"}}
	declared.judged(t)
	for p := (patience{}); p.left(); { // a machine that stands still may admit more, and show nothing
		r := run(t, read(t, "burst", urls["silent"], declared.right), "")
		if slices.ContainsFunc(r.Claims,
			func(c verdict.Claim) bool { return c.Kind == verdict.ClaimAnswered }) {
			return
		}
	}
	t.Error("a target that only hangs up was never accused of it")
}

// zone is one limit_req of nginx.
type zone struct {
	Name, Rate, Args string
	// Status is limit_req_status, 0 for what nginx denies with unless told.
	Status int
	// Key is what clients are told apart by; empty for their X-Api-Key.
	Key string
}

// nginx starts nginx with two workers that share the zones, as on a real machine, and returns the URL of each
// by name.
func nginx(t testing.TB, zones ...zone) map[string]string {
	t.Helper()
	return nginxOf(t, 2, zones...)
}

// nginxOf is nginx with a number of workers.
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
// one, that sinks at the rate and may come up to burst: the level of a leaky bucket less the request itself,
// so that burst=20 admits 21 at once. For a whole number a second it is exact but for its clock, which nginx
// reads in milliseconds once a turn of its event loop (src/http/modules/ngx_http_limit_req_module.c,
// ngx_http_limit_req_lookup; the same in 1.22 and 1.28).
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

// nginx denies with 503 unless told otherwise. That is a denial, and not the status that is expected of one.
func TestNginxDeniesWith503UnlessTold(t *testing.T) {
	t.Parallel()
	urls := nginx(t, zone{Name: "untold", Rate: "50r/s", Args: "burst=9 nodelay"})
	for p := (patience{}); ; {
		more := p.left()
		still := watch(t)
		r := run(t, read(t, "burst", urls["untold"], "leaky-bucket,rate=50/s,burst=10",
			"expect.denied_status=[429]"), "")
		longest := still()
		verdicts := map[string]verdict.Verdict{}
		for _, c := range r.Claims {
			verdicts[c.ID] = c.Verdict
		}
		if more && (verdicts["conformance"] == verdict.Inconclusive ||
			verdicts["conformance"] == verdict.Fail && standsStill(t, r, longest)) {
			continue
		}
		if verdicts["conformance"] != verdict.Pass || verdicts["denied-status"] != verdict.Fail ||
			r.Verdict != verdict.Fail {
			t.Errorf("got %s, want conformance to pass and the status to fail", line(&r))
		}
		return
	}
}

// limit_req with delays is a leaky bucket as a queue: an admitted request waits for the excess above delay=N
// (0 unless told) to sink, and is denied where the excess is over burst. With delay=8 the first one and eight
// more pass at once.
//
// What waits may have been decided late, so nothing proves that a queue has too many places (queue=19 here).
//
// There is one worker. A delay counts from the clock that a worker has read, while the excess counts from the
// newest that any has: a worker that stands still in between lets its request through that much before its
// turn. Among two workers on a busy machine one release in some thousands came 50 ms early, 10 ms after the
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
				if other := again(t, r, spec); other.Verdict == verdict.Pass {
					t.Errorf("got %s, want no PASS", line(&other))
				}
			}
		})
	}
}

// TestNginxKeyedByAddress: a limit that counts by address is declared as one of each key. The first run
// shows no difference. Of the second one the quota is in use when it begins, and the first thing that is
// said is why.
func TestNginxKeyedByAddress(t *testing.T) {
	t.Parallel()
	url := nginx(t, zone{Name: "address", Rate: "10r/s", Args: "burst=20 nodelay",
		Status: http.StatusTooManyRequests, Key: "$binary_remote_addr"})["address"]
	const spec = "leaky-bucket,rate=10/s,burst=21"
	for p := (patience{}); p.left(); {
		run(t, read(t, "burst", url, spec), "")
		r := run(t, read(t, "burst", url, spec), "")
		if r.Verdict != verdict.Fail {
			continue // this machine was so slow that nothing was left in use
		}
		if d := r.Judgement.Diagnosis; d == nil || d.Kind != verdict.SharedQuota {
			t.Errorf("%s: diagnosis %v, hint %q, want a shared quota", line(&r), d, r.Judgement.Hint)
		}
		return
	}
	t.Error("no second run failed")
}
