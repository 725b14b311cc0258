package live

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/report"
)

// table is a stick-table of HAProxy and the rules around it.
type table struct {
	// store is what it counts, denyIf the condition under which a request is denied, after what is done for one that was
	// admitted. expire is how long an entry is kept after its last request.
	store, denyIf, expire string
	after                 []string
}

// haproxy starts HAProxy with one table and returns its URL.
func haproxy(t testing.TB, c table) string {
	t.Helper()
	addr := start(t, program{
		binary: "haproxy", template: "haproxy.cfg.tmpl",
		params: map[string]any{"Store": c.store, "DenyIf": c.denyIf, "Expire": c.expire, "AfterAdmission": c.after},
		args:   func(config string, _ int) []string { return []string{"-db", "-f", config} },
	})
	return "http://" + addr + "/"
}

// The rates of a stick-table are sliding window counters: freq_ctr (include/haproxy/freq_ctr.h of 2.6) keeps the count of
// the current period and of the one before, and reads
//
//	floor(previous * remain / period) + current
//
// The first counted event begins a period; the next ones follow it, and an event two periods or more after the beginning
// of the last one that counted begins anew. A new beginning is rounded down to an even millisecond (its lowest bit is a
// lock), and all times are whole milliseconds read once a turn of the event loop: tick=2ms. http_req_rate counts a request
// before the rule reads it, so `gt 10` denies the eleventh, and denied ones are counted; gpc0_rate, counted behind the rule,
// counts what was admitted.
func TestHAProxyRatesAreSlidingWindowCounters(t *testing.T) {
	t.Parallel()
	const spec = "sliding-window-counter,align=first,rounding=down,tick=2ms,"
	for name, c := range map[string]struct {
		table
		count, other string
	}{
		"http_req_rate": {table{store: "http_req_rate(400ms)", denyIf: "sc_http_req_rate(0) gt 10", expire: "10s"}, "count=all,", "count=admitted,"},
		"gpc0_rate":     {table{store: "gpc0,gpc0_rate(400ms)", denyIf: "sc0_gpc0_rate ge 10", expire: "10s", after: []string{"sc-inc-gpc0(0)"}}, "count=admitted,", "count=all,"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := haproxy(t, c.table)
			right := spec + c.count + "rate=10/400ms"
			burst := []string{spec + c.count + "rate=9/400ms", spec + c.count + "rate=11/400ms"}
			flow := append([]string{
				spec + c.count + "rate=10/320ms", spec + c.count + "rate=10/480ms", spec + c.other + "rate=10/400ms",
				"fixed-window,rate=10/400ms,align=first", "token-bucket,rate=10/400ms,burst=10",
			}, burst...)
			steadily(t, trial{"burst", url, right, nil, burst})
			steadily(t, trial{"sustained", url, right, nil, flow})
		})
	}
}

// http_req_cnt with expire is often taken for a fixed window. It is none: every request, also a denied one, puts the expiry
// off, so that a client at 0.9 times the limit is locked out for ever. No SPEC of a window explains that.
func TestHAProxyCountWithExpiryIsNoWindow(t *testing.T) {
	t.Parallel()
	url := haproxy(t, table{store: "http_req_cnt", denyIf: "sc_http_req_cnt(0) gt 10", expire: "400ms"})
	r := run(t, read(t, "sustained", url, "fixed-window,rate=10/400ms,align=first"), "")
	mustFail(t, r)
	for _, spec := range []string{
		"fixed-window,rate=10/400ms", "fixed-window,rate=10/400ms,align=unknown", "sliding-window-log,rate=10/400ms",
		"sliding-window-counter,rate=10/400ms,align=first,rounding=down,count=all,tick=2ms", "token-bucket,rate=10/400ms,burst=10",
	} {
		mustFail(t, again(t, r, spec))
	}
}

// HAProxy takes it for a jump of the clock when more than 100 ms pass beyond the time it meant to sleep, and leaves them out
// of its own time (src/clock.c of 2.6, clock_update_date): on a machine that stands still its periods are longer than
// declared, and the judge says so. A run in which something stood still tells nothing of the algorithm.
const (
	stoodStill = 90 * time.Millisecond
	steadyRuns = 5
)

// steadily is judged for HAProxy: runs in which the machine stood still are repeated.
func steadily(t testing.TB, c trial) {
	t.Helper()
	for range steadyRuns {
		w := watch()
		r := run(t, read(t, c.scenario, c.url, c.right, c.sets...), "")
		if still := max(w.longest(), longestWait(&r)); still >= stoodStill {
			t.Logf("%s: something stood still for %s; once more", c.scenario, still)
			continue
		}
		mustPass(t, r)
		for _, spec := range c.wrong {
			mustFail(t, again(t, r, spec, c.sets...))
		}
		return
	}
	t.Skipf("%s: the machine stood still for %s or longer in each of %d runs", c.scenario, stoodStill, steadyRuns)
}

// longestWait is the longest that a request was late or waited for its answer.
func longestWait(r *report.Scenario) time.Duration {
	var longest time.Duration
	if r.Timeline == nil {
		return 0
	}
	for _, o := range r.Timeline.Observations {
		longest = max(longest, o.Sent-o.At, o.FirstByte-o.Sent)
	}
	return longest
}

// watcher sleeps a millisecond at a time and notices how long it really was.
type watcher struct {
	stop  chan struct{}
	worst chan time.Duration
}

func watch() *watcher {
	w := &watcher{make(chan struct{}), make(chan time.Duration)}
	go func() {
		worst, last := time.Duration(0), time.Now()
		for {
			select {
			case <-w.stop:
				w.worst <- worst
				return
			case <-time.After(time.Millisecond):
				now := time.Now()
				worst, last = max(worst, now.Sub(last)), now
			}
		}
	}()
	return w
}

func (w *watcher) longest() time.Duration {
	close(w.stop)
	return <-w.worst
}
