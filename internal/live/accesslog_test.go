package live

import (
	"bytes"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/accesslog"
	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// readLog reads a log that a server wrote, as `rlcheck check` does.
func readLog(t testing.TB, path string, o accesslog.Options) *timeline.Timeline {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := accesslog.Read(bytes.NewReader(text), path, o)
	if err != nil {
		t.Fatal(err)
	}
	if l.Skipped+l.Keyless+l.Foreign > 0 {
		t.Errorf("%s: got %d lines skipped, %d without a key, %d foreign, want none", path, l.Skipped, l.Keyless, l.Foreign)
	}
	l.Header.Tick = time.Millisecond
	return l.Timeline()
}

// judgeLog judges what a log says under a SPEC.
func judgeLog(t testing.TB, tl *timeline.Timeline, spec string) *check.Judgement {
	t.Helper()
	limit, err := reference.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	j, err := check.Judge(tl, limit, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// The access logs of nginx, of requests that its limit_req has decided, never accuse the SPEC that it implements, on a
// machine that is busy with something else, and tell what is wrong with others: less, the coarser they are. RLCHECK_SOAK=1
// does it fifty times, else twice.
func TestTheLogOfNginxNeverAccuses(t *testing.T) {
	times := 2
	if os.Getenv("RLCHECK_SOAK") == "1" {
		times = 50
	}
	const right = "leaky-bucket,rate=10/s,burst=21"
	logs := t.TempDir()
	addr := start(t, program{
		binary: "nginx", template: "nginx-log.conf.tmpl", params: map[string]any{"Logs": logs, "Rate": "10r/s", "Burst": 20, "Upstream": ""},
		args: func(config string, _ int) []string { return []string{"-e", "stderr", "-c", config} },
	})
	idle := burn(2)
	var runs sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	sent := 0
	var mu sync.Mutex
	for range times {
		slots <- struct{}{}
		runs.Go(func() {
			defer func() { <-slots }()
			r := run(t, read(t, "burst", "http://"+addr+"/", right), "")
			mu.Lock()
			defer mu.Unlock()
			sent += r.Counts.Sent
		})
	}
	runs.Wait()
	idle()
	for _, c := range []struct {
		file  string
		o     accesslog.Options
		wrong []string
	}{
		{"rich.log", accesslog.Options{Format: accesslog.Nginx, PartitionBy: "X-Api-Key"},
			[]string{"leaky-bucket,rate=10/s,burst=17", "leaky-bucket,rate=10/s,burst=25", "leaky-bucket,rate=30/s,burst=21", "fixed-window,rate=21/2100ms,align=first"}},
		{"json.log", accesslog.Options{Format: accesslog.NginxJSON, PartitionBy: "X-Api-Key"},
			[]string{"leaky-bucket,rate=10/s,burst=17", "leaky-bucket,rate=10/s,burst=25"}},
		{"seconds.log", accesslog.Options{Format: accesslog.Nginx, PartitionBy: "user", MaxDuration: 500 * time.Millisecond},
			[]string{"leaky-bucket,rate=1/s,burst=15", "leaky-bucket,rate=10/s,burst=64"}},
	} {
		for _, complete := range []bool{true, false} {
			c.o.Complete = complete
			tl := readLog(t, filepath.Join(logs, c.file), c.o)
			if len(tl.Observations) != sent {
				t.Errorf("%s: got %d requests, want the %d that were sent", c.file, len(tl.Observations), sent)
			}
			j := judgeLog(t, tl, right)
			t.Logf("%s, complete %t: %s, burst measured %s, rate %s/s", c.file, complete, j.Verdict, j.Measured.Burst, j.Measured.Rate)
			for _, p := range j.Partitions {
				for _, f := range p.Findings {
					t.Errorf("%s, complete %t: the right SPEC is accused of %s: %s", c.file, complete, p.Partition, f.Text)
				}
			}
			for _, spec := range c.wrong {
				if j := judgeLog(t, tl, spec); complete && j.Verdict != check.Fail {
					t.Errorf("%s: %s: got %s, want a FAIL", c.file, spec, j.Verdict)
				}
			}
		}
	}
	kept, _ := os.ReadFile(filepath.Join(logs, "rich.log"))
	if t.Failed() && len(kept) < 200_000 {
		t.Logf("%s", kept)
	}
}

// A server behind nginx decides when a request arrives and answers up to 400 ms later, as slow applications do: what nginx
// logs is the end, and only the duration leads back to the decision. The windows of the clock are those of the log.
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
				params: map[string]any{"Logs": logs, "Rate": "1r/s", "Burst": 1, "Upstream": slow(t, c.right)},
				args:   func(config string, _ int) []string { return []string{"-e", "stderr", "-c", config} },
			})
			r := run(t, read(t, c.scenario, "http://"+addr+"/", c.right), "")
			tl := readLog(t, filepath.Join(logs, "rich.log"), accesslog.Options{Format: accesslog.Nginx, PartitionBy: "X-Api-Key", Complete: true})
			if len(tl.Observations) != r.Counts.Sent {
				t.Errorf("got %d requests, want the %d that were sent", len(tl.Observations), r.Counts.Sent)
			}
			j := judgeLog(t, tl, c.right)
			t.Logf("%s, measured %s", j.Verdict, j.Measured.Burst)
			for _, p := range j.Partitions {
				for _, f := range p.Findings {
					t.Errorf("the right SPEC is accused: %s", f.Text)
				}
			}
			if j := judgeLog(t, tl, c.wrong); j.Verdict != check.Fail {
				t.Errorf("%s: got %s, want a FAIL", c.wrong, j.Verdict)
			}
		})
	}
}

// slow starts a server that decides by the wall clock, for each X-Api-Key, at once and answers late, and returns its address.
func slow(t testing.TB, spec string) string {
	t.Helper()
	limit, err := reference.Parse(spec)
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

// The log of HAProxy over syslog, of requests that a stick-table has decided, tells as much.
func TestTheLogOfHAProxyNeverAccuses(t *testing.T) {
	t.Parallel()
	const spec = "sliding-window-counter,align=first,rounding=down,tick=2ms,count=all,"
	syslog, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer syslog.Close()
	lines := collect(syslog)
	addr := start(t, program{
		binary: "haproxy", template: "haproxy.cfg.tmpl", params: map[string]any{"Store": "http_req_rate(600ms)", "DenyIf": "sc_http_req_rate(0) gt 10",
			"Expire": "10s", "AfterAdmission": nil, "Syslog": syslog.LocalAddr().String()},
		args: func(config string, _ int) []string { return []string{"-db", "-f", config} },
	})
	still := watch(t)
	r := run(t, read(t, "sustained", "http://"+addr+"/", spec+"rate=10/600ms"), "")
	longest := still()
	path := filepath.Join(t.TempDir(), "haproxy.log")
	if err := os.WriteFile(path, []byte(lines.wait(t, r.Counts.Sent)), 0o644); err != nil {
		t.Fatal(err)
	}
	tl := readLog(t, path, accesslog.Options{Format: accesslog.HAProxy, PartitionBy: "capture1", Zone: time.Local, Complete: true})
	if len(tl.Observations) != r.Counts.Sent {
		t.Errorf("got %d requests, want the %d that were sent", len(tl.Observations), r.Counts.Sent)
	}
	j := judgeLog(t, tl, spec+"rate=10/600ms")
	t.Logf("%s, quota measured %s; by the recording %s", j.Verdict, j.Measured.Burst, r.Judgement.Measured.Burst)
	if j.Verdict == check.Fail && longest >= stoodStill {
		t.Skipf("the machine stood still for %s, and the clock of HAProxy may have done so too", longest)
	}
	for _, p := range j.Partitions {
		for _, f := range p.Findings {
			t.Errorf("the right SPEC is accused: %s", f.Text)
		}
	}
	if j := judgeLog(t, tl, spec+"rate=5/600ms"); j.Verdict != check.Fail {
		t.Errorf("half the quota: got %s, want a FAIL", j.Verdict)
	}
}

// collected is what arrives at a syslog, read while it comes: what is not read in time is lost.
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
			if line := strings.TrimRight(string(packet[:size]), "\n\x00"); strings.Contains(line, " limited limited/") && !strings.Contains(line, "<BADREQ>") { // those are of who looked whether it runs
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
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
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
