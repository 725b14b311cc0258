package live

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/accesslog"
	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// readLog reads a log of `sent` requests that a server wrote, as `rlcheck check` does. Servers write the line
// of a request after its answer, and may be slow to do it.
func readLog(t testing.TB, path string, o accesslog.Options, sent int) *timeline.Timeline {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(text, []byte("\n")) < sent && time.Now().Before(deadline) {
			continue
		}
		l, err := accesslog.Read(bytes.NewReader(text), path, o)
		if err != nil {
			t.Fatal(err)
		}
		if l.Skipped+l.Keyless+l.Foreign > 0 {
			t.Errorf("%s: got %d lines skipped, %d without a key, %d foreign, want none", path, l.Skipped,
				l.Keyless, l.Foreign)
		}
		l.Header.Tick = time.Millisecond
		tl := &timeline.Timeline{Header: l.Header}
		if err := l.Each(func(o *timeline.Observation) bool {
			tl.Observations = append(tl.Observations, *o)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if len(tl.Observations) != sent {
			t.Errorf("%s: got %d requests, want the %d that were sent", path, len(tl.Observations), sent)
		}
		return tl
	}
}

// judgeLog judges what a log says under a SPEC.
func judgeLog(t testing.TB, tl *timeline.Timeline, text string) *result.Judgement {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	j, err := check.Judge(tl, limit, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// logged is one log of nginx and what it refutes.
type logged struct {
	file  string
	o     accesslog.Options
	wrong []string
}

// accusations returns what the findings of a log against a SPEC say. If a worker stood still in the middle of
// a turn, its clock is late, and so are its log times. So the judge allows decisions to lie outside of the
// logged times. The allowance is ten times the longest standstill that an idle process saw, since others may
// have stood still longer. It is at least stoodStill.
func accusations(t testing.TB, path string, o accesslog.Options, sent int, spec string,
	longest time.Duration) (said []string) {
	t.Helper()
	o.Lag, o.LagSet = max(stoodStill, 10*longest), true
	for _, p := range judgeLog(t, readLog(t, path, o, sent), spec).Partitions {
		for _, f := range p.Findings {
			said = append(said, fmt.Sprintf("%s: %s", p.Partition, f.Text))
		}
	}
	return said
}

// The access logs of nginx hold requests that its limit_req has decided, on a machine that is busy with
// something else. They never accuse the SPEC that it implements, and show what is wrong with others; a
// coarser log shows less. RLCHECK_SOAK=1 does it fifty times, otherwise twice, and more often until enough
// was seen.
func TestTheLogOfNginxNeverAccuses(t *testing.T) {
	times := 2
	if os.Getenv("RLCHECK_SOAK") == "1" {
		times = 50
	}
	logs := t.TempDir()
	addr := start(t, program{
		binary: "nginx", template: "nginx-log.conf.tmpl",
		params: map[string]any{"Logs": logs, "Rate": "10r/s", "Burst": 20, "Upstream": ""},
		args:   func(config string, _ int) []string { return []string{"-e", "stderr", "-c", config} },
	})
	all := []logged{
		{"rich.log", accesslog.Options{Format: accesslog.Nginx, PartitionBy: "X-Api-Key"},
			[]string{"leaky-bucket,rate=10/s,burst=17", "leaky-bucket,rate=10/s,burst=25",
				"leaky-bucket,rate=30/s,burst=21", "fixed-window,rate=21/2100ms,align=first"}},
		{"json.log", accesslog.Options{Format: accesslog.NginxJSON, PartitionBy: "X-Api-Key"},
			[]string{"leaky-bucket,rate=10/s,burst=17", "leaky-bucket,rate=10/s,burst=25"}},
		{"seconds.log", accesslog.Options{Format: accesslog.Nginx, PartitionBy: "user",
			MaxDuration: 500 * time.Millisecond},
			[]string{"leaky-bucket,rate=1/s,burst=15", "leaky-bucket,rate=10/s,burst=64"}},
	}
	sent, longest := 0, time.Duration(0)
	for p := (patience{}); p.left(); {
		still := watch(t)
		sent += burnedBursts(t, "http://"+addr+"/", times)
		longest = max(longest, still())
		for i := range all {
			all[i].judged(t, logs, sent, longest)
		}
		if t.Failed() || !slices.ContainsFunc(all, func(l logged) bool { return len(l.wrong) > 0 }) {
			break
		}
		times = atOnce
	}
	for _, l := range all {
		if len(l.wrong) > 0 {
			t.Errorf("%s: got no FAIL of %q", l.file, l.wrong)
		}
	}
	kept, _ := os.ReadFile(filepath.Join(logs, "rich.log"))
	if t.Failed() && len(kept) < 200_000 {
		t.Logf("%s", kept)
	}
}

// burnedBursts runs the burst on a busy machine and returns how many requests were sent.
func burnedBursts(t *testing.T, url string, times int) int {
	t.Helper()
	defer burn(2)()
	var runs sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	var sent atomic.Int64
	for range times {
		slots <- struct{}{}
		runs.Go(func() {
			defer func() { <-slots }()
			sent.Add(int64(run(t, read(t, "burst", url, "leaky-bucket,rate=10/s,burst=21"), "").Counts.Sent))
		})
	}
	runs.Wait()
	return int(sent.Load())
}

// judged judges a log of `sent` requests, and removes the SPECs that it refutes from the wrong ones.
func (l *logged) judged(t *testing.T, logs string, sent int, longest time.Duration) {
	t.Helper()
	const right = "leaky-bucket,rate=10/s,burst=21"
	path := filepath.Join(logs, l.file)
	for _, complete := range []bool{true, false} {
		l.o.Complete = complete
		tl := readLog(t, path, l.o, sent)
		j := judgeLog(t, tl, right)
		t.Logf("%s, complete %t: %s, burst measured %s, rate %s/s", l.file, complete, j.Verdict,
			j.Measured.Burst, j.Measured.Rate)
		if j.Verdict == result.Fail {
			for _, said := range accusations(t, path, l.o, sent, right, longest) {
				t.Errorf("%s, complete %t: the right SPEC is accused of %s", l.file, complete, said)
			}
		}
		if complete {
			l.wrong = slices.DeleteFunc(l.wrong,
				func(spec string) bool { return judgeLog(t, tl, spec).Verdict == result.Fail })
		}
	}
}

// A server behind nginx decides when a request arrives and answers up to 400 ms later, as slow applications
// do. nginx logs the end, and only the duration leads back to the decision. The windows are those of the
// clock that the log uses.
func TestTheLogOfAProxyNeverAccuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ scenario, right, wrong string }{
		{"burst", "token-bucket,rate=20/s,burst=20", "token-bucket,rate=20/s,burst=5"},
		{"sustained", "fixed-window,rate=20/1s", "fixed-window,rate=10/1s"},
	} {
		t.Run(c.right, func(t *testing.T) {
			t.Parallel()
			logs := t.TempDir()
			addr := start(t, program{
				binary: "nginx", template: "nginx-log.conf.tmpl",
				params: map[string]any{"Logs": logs, "Rate": "1r/s", "Burst": 1,
					"Upstream": slow(t, c.right)},
				args: func(config string, _ int) []string { return []string{"-e", "stderr", "-c", config} },
			})
			sent := 0
			for p := (patience{}); p.left(); {
				sent += run(t, read(t, c.scenario, "http://"+addr+"/", c.right), "").Counts.Sent
				tl := readLog(t, filepath.Join(logs, "rich.log"),
					accesslog.Options{Format: accesslog.Nginx, PartitionBy: "X-Api-Key", Complete: true},
					sent)
				j := judgeLog(t, tl, c.right)
				t.Logf("%s, measured %s", j.Verdict, j.Measured.Burst)
				for _, p := range j.Partitions {
					for _, f := range p.Findings {
						t.Errorf("the right SPEC is accused: %s", f.Text)
					}
				}
				if t.Failed() || judgeLog(t, tl, c.wrong).Verdict == result.Fail {
					return
				}
			}
			t.Errorf("%s: got no FAIL", c.wrong)
		})
	}
}

// slow starts a server that decides at once by the wall clock, for each X-Api-Key, and answers late. It
// returns the address.
func slow(t testing.TB, text string) string {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	lim, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	states := map[string]reference.State{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		key := r.Header.Get("X-Api-Key")
		state, known := states[key]
		if !known {
			state = lim.Init()
		}
		state, d := lim.Step(state, time.Duration(time.Now().UnixNano()), 1)
		states[key] = state
		mu.Unlock()
		time.Sleep(time.Duration(rand.Int64N(int64(400 * time.Millisecond))))
		if !d.Allow {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// The log of HAProxy over syslog shows as much; a stick-table has decided its requests.
func TestTheLogOfHAProxyNeverAccuses(t *testing.T) {
	t.Parallel()
	const spec = "sliding-window-counter,align=first,rounding=down,tick=2ms,count=all,"
	syslog, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer syslog.Close()
	if err := syslog.(*net.UDPConn).SetReadBuffer(4 << 20); err != nil { // for times without a reader
		t.Fatal(err)
	}
	lines := collect(syslog)
	addr := start(t, program{
		binary: "haproxy", template: "haproxy.cfg.tmpl",
		params: map[string]any{"Store": "http_req_rate(600ms)", "DenyIf": "sc_http_req_rate(0) gt 10",
			"Expire": "10s", "AfterAdmission": nil, "Syslog": syslog.LocalAddr().String()},
		args: func(config string, _ int) []string { return []string{"-db", "-f", config} },
	})
	sent, path := 0, filepath.Join(t.TempDir(), "haproxy.log")
	for p := (patience{}); p.left(); {
		still := watch(t)
		r := run(t, read(t, "sustained", "http://"+addr+"/", spec+"rate=10/600ms"), "")
		longest := still()
		sent += r.Counts.Sent
		if err := os.WriteFile(path, []byte(lines.wait(t, sent)), 0o644); err != nil {
			t.Fatal(err)
		}
		o := accesslog.Options{Format: accesslog.HAProxy, PartitionBy: "capture1", Zone: time.Local,
			Complete: true}
		tl := readLog(t, path, o, sent)
		j := judgeLog(t, tl, spec+"rate=10/600ms")
		t.Logf("%s, quota measured %s; by the recording %s", j.Verdict, j.Measured.Burst,
			r.Judgement.Measured.Burst)
		if j.Verdict == result.Fail &&
			(longest >= stoodStill ||
				len(accusations(t, path, o, sent, spec+"rate=10/600ms", longest)) == 0) {
			t.Skipf("the machine stood still, for %s of an idle process, and the clock of HAProxy may have "+
				"done so too", longest)
		}
		for _, p := range j.Partitions {
			for _, f := range p.Findings {
				t.Errorf("the right SPEC is accused: %s", f.Text)
			}
		}
		if t.Failed() || judgeLog(t, tl, spec+"rate=5/600ms").Verdict == result.Fail {
			return
		}
	}
	t.Error("half the quota: got no FAIL")
}

// collected is what arrives at a syslog, read as it arrives: what is not read in time is lost.
type collected struct {
	mu    sync.Mutex
	text  strings.Builder
	lines int
}

func collect(syslog net.PacketConn) *collected {
	c := &collected{}
	go func() {
		packet := make([]byte, 64<<10)
		for {
			size, _, err := syslog.ReadFrom(packet)
			if err != nil {
				return // closed
			}
			// all other lines come from tests whether it runs
			if line := strings.TrimRight(string(packet[:size]), "\n\x00"); strings.Contains(line,
				" limited limited/") && !strings.Contains(line, "<BADREQ>") {
				c.mu.Lock()
				c.text.WriteString(line + "\n")
				c.lines++
				c.mu.Unlock()
			}
		}
	}()
	return c
}

// wait returns the lines when there are n of them.
func (c *collected) wait(t testing.TB, n int) string {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c.mu.Lock()
		text, lines := c.text.String(), c.lines
		c.mu.Unlock()
		if lines >= n {
			return text
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %d of %d lines", lines, n)
		}
	}
}
