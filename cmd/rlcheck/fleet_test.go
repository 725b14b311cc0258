package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// logged is a target that admits everything and logs when it decided. Its answers tell the line of the log.
type logged struct {
	*httptest.Server
	mu  sync.Mutex
	log []time.Time
}

func newLogged(t *testing.T) *logged {
	x := &logged{}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		x.mu.Lock()
		n := len(x.log)
		x.log = append(x.log, time.Now())
		x.mu.Unlock()
		w.Header().Set("X-Ratelimit-Line", strconv.Itoa(n))
	}))
	t.Cleanup(x.Close)
	return x
}

func (x *logged) lines() []time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.log[:len(x.log):len(x.log)]
}

const loggedScenario = `id: logged
title: Everything is admitted
kind: required
target: {url: builtin}
partition: {header: X-Api-Key, count: 5, fresh: true}
limit: {algorithm: token-bucket, rate: 1000000/s, burst: 100000}
phases:
  - {name: burst, shape: at-once, requests: 12}
  - {name: closed, shape: closed, clients: 10, requests: CLOSED}
  - {name: steady, shape: constant, rate: RATE, duration: LASTS}
expect: {conformance: upper-bound, resolution: {burst: none, rate: none}}
safety: {max_requests: 1_000_000, max_rate: 100000/s}
`

// writeLogged writes the scenario for logged.
func writeLogged(t *testing.T, dir, closed, rate, lasts string) {
	t.Helper()
	text := strings.NewReplacer("CLOSED", closed, "RATE", rate, "LASTS", lasts).Replace(loggedScenario)
	if err := os.WriteFile(filepath.Join(dir, "logged.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const bigLimit = "token-bucket,rate=1000000/s,burst=100000"

// TestAgentsRecordWhatTheTargetLogs: four agents on this machine record each line of the target's log once.
// Each decision lies in its interval, for one offset between the clocks of the log and of the recording. That
// offset is as small as the run says. Requests that a machine standing still kept from being sent or answered
// are counted. The soak does this for a million requests.
func TestAgentsRecordWhatTheTargetLogs(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	closed, rounds := 400, 1
	if os.Getenv("RLCHECK_SOAK") == "1" {
		closed, rounds = 20_000, 10
	}
	all := 0
	for range rounds {
		all += recordsTheLog(t, closed)
	}
	if rounds > 1 && all < 1_000_000 {
		t.Errorf("%d requests were compared, want a million", all)
	}
	t.Logf("%d requests, no decision outside its interval", all)
}

// tries calls do until it is done, at longer and longer intervals. A machine that stands still for most of a
// second parts a fleet, but may be less busy later. tries fails the test with what do said last.
func tries(t *testing.T, do func() (why string, done bool)) {
	t.Helper()
	began := time.Now()
	for rest := time.Duration(0); ; rest += time.Second {
		why, done := do()
		switch {
		case done:
			return
		case time.Since(began) > patience:
			t.Fatalf("the machine stood still each time for %v: %s", patience, why)
		}
		t.Logf("tried again: %s", why)
		time.Sleep(rest)
	}
}

// parted tells whether the machine stood still so long that agents lost each other, or one heard of a phase
// too late. The requests of these agents are then not recorded.
func parted(out []byte) bool {
	for _, why := range []string{"too late", "no sign of life", "lost the coordinator",
		"from the coordinator for", "renew its lease", "did not answer for", "ended before the others",
		"its clock is known", "agents came within", "no agent came", "redis: "} {
		if bytes.Contains(bytes.Join(bytes.Fields(out), []byte(" ")), []byte(why)) {
			return true
		}
	}
	return false
}

func recordsTheLog(t *testing.T, closed int) (seen int) {
	tries(t, func() (string, bool) {
		x, dir := newLogged(t), t.TempDir()
		writeLogged(t, dir, strconv.Itoa(closed), "50/s", "1s")
		out, err := program(t, dir, "run", "logged.yaml", "-t", x.URL, "--limit", bigLimit, "--agents", "4",
			"--out", "run").CombinedOutput()
		if parted(out) {
			return string(out), false
		}
		seen = x.recorded(t, dir, closed, fmt.Sprintf("%v: %s", err, out))
		return "", true
	})
	return seen
}

// recorded compares the log with the recording in dir of a run that printed out. It returns how many requests
// have a line in both.
func (x *logged) recorded(t *testing.T, dir string, closed int, out string) int {
	f, missing := os.Open(filepath.Join(dir, "run", "timeline.ndjson"))
	if missing != nil {
		t.Fatalf("%v, %s", missing, out)
	}
	defer f.Close()
	tl, err := timeline.Read(f, "timeline", timeline.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	log, seen, lost := x.lines(), map[int]bool{}, []string{}
	least, most := -time.Hour, time.Hour // bounds of the offset
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if !o.Answered { // the machine stood still
			lost = append(lost, o.Error)
			continue
		}
		text, _ := o.Fields.Get("X-Ratelimit-Line")
		n, err := strconv.Atoi(text)
		if err != nil || seen[n] || n >= len(log) {
			t.Fatalf("request %d: line %q of the log, seen before: %v", o.Seq, text, seen[n])
		}
		seen[n] = true
		at := log[n].Sub(tl.Header.Started)
		least = max(least, at-o.FirstByte-tl.Header.ClockError)
		most = min(most, at-o.Sent+tl.Header.ClockError)
	}
	if least > most {
		t.Errorf("no offset explains all: %v..%v", least, most)
	}
	if near := time.Millisecond; least > near || most < -near {
		t.Errorf("the recording is %v..%v off", least, most)
	}
	all := len(seen) + len(lost)
	if len(log) < len(seen) || len(log) > all || all+tl.Header.Unsent != 5*12+5*50+5*closed {
		t.Errorf("%d requests are recorded, %d were logged, %d unsent, not answered %v: %s", len(seen),
			len(log), tl.Header.Unsent, lost, out)
	}
	t.Logf("%d requests, clock error %v, offset %v..%v, spreads %v, not answered %v", len(seen),
		tl.Header.ClockError, least, most, tl.Header.Spreads, lost)
	return len(seen)
}

// TestFaultsAreFoundAcrossAgents: two faults fail, and a right target passes. One fault is two replicas that
// count for themselves, the other a limiter that two concurrent requests get past.
func TestFaultsAreFoundAcrossAgents(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for fault, scenario := range map[string]string{"": "replicas", "per-replica-counters": "replicas",
		"check-then-act": "concurrent-race"} {
		args := []string{"run", "builtin:" + scenario, "--agents", "3", "--retries", "10"}
		want := cli.ExitPass
		if fault != "" {
			args, want = append(args, "--set", "target.fault="+fault), cli.ExitFail
		}
		tries(t, func() (string, bool) {
			lead := program(t, t.TempDir(), args...)
			out, _ := lead.CombinedOutput() // its exit status is checked below
			got := lead.ProcessState.ExitCode()
			if got == cli.ExitInconclusive {
				return string(out), false
			}
			if got != want {
				t.Errorf("%s with fault %q: got exit status %d, want %d: %s", scenario, fault, got, want, out)
			}
			return "", true
		})
	}
}

// startCluster starts a cluster of three masters and returns their addresses.
func startCluster(t *testing.T) (addrs []string) {
	t.Helper()
	server, err := exec.LookPath("redis-server")
	cli, missing := exec.LookPath("redis-cli")
	if err != nil || missing != nil {
		t.Skip("redis-server or redis-cli is not installed")
	}
	for range 3 {
		var ports [2]string
		var held [2]net.Listener
		for i := range ports {
			if held[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
			_, ports[i], _ = net.SplitHostPort(held[i].Addr().String())
		}
		for _, l := range held {
			_ = l.Close() // the server takes the port
		}
		begin(t, exec.Command(server, "--port", ports[0], "--cluster-port", ports[1], "--cluster-enabled",
			"yes", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir()))
		addrs = append(addrs, "127.0.0.1:"+ports[0])
	}
	var out []byte
	const tries = int(patience / (100 * time.Millisecond)) // that a slow machine takes long is no fault
	for range tries {                                      // until all of them listen
		args := append([]string{"--cluster", "create"}, append(addrs, "--cluster-yes")...)
		if out, err = exec.Command(cli, args...).CombinedOutput(); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, addr := range addrs { // each learns by itself that all are there
		_, port, _ := net.SplitHostPort(addr)
		for range tries {
			out, _ = exec.Command(cli, "-p", port, "cluster", "info").CombinedOutput()
			if strings.Contains(string(out), "cluster_state:ok") {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	if !strings.Contains(string(out), "cluster_state:ok") {
		t.Fatalf("%v: %s", err, out)
	}
	return addrs
}

// TestAgentsMeetAtACluster: a run whose agents meet at a Redis cluster passes, and one node has all of its
// keys.
func TestAgentsMeetAtACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	addrs, dir := startCluster(t), t.TempDir()
	url := "redis-cluster://" + strings.Join(addrs, ",")
	tries(t, func() (string, bool) {
		for i := range 2 {
			begin(t, program(t, dir, "agent", "-q", "--redis", url, "--name", fmt.Sprintf("agent-%d", i+1)))
		}
		lead := program(t, dir, "run", "builtin:burst", "--agents", "2", "--redis", url, "--retries", "10")
		out, err := lead.CombinedOutput()
		if lead.ProcessState.ExitCode() == cli.ExitInconclusive {
			return string(out), false
		}
		if err != nil {
			t.Errorf("got %v: %s", err, out)
		}
		return "", true
	})
	nodes := 0
	for _, addr := range addrs {
		client, err := lab.OpenRedis("redis://" + addr)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := client.Keys(t.Context(), "rlcheck:{*").Result()
		_ = client.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) > 0 {
			nodes++
		}
	}
	if nodes != 1 {
		t.Errorf("%d nodes have keys of the run, want one", nodes)
	}
}

// wire is a connection to a Redis that can be slow, or cut.
type wire struct {
	addr  string
	delay atomic.Int64
	cut   atomic.Bool
}

// newWire returns a wire to the Redis at a URL, and the URL of the wire.
func newWire(t *testing.T, url string) (*wire, string) {
	t.Helper()
	host := strings.TrimSuffix(strings.TrimPrefix(url, "redis://"), "/0")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := &wire{addr: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", host)
			if err != nil {
				_ = c.Close()
				continue
			}
			go w.pass(c, s)
			go w.pass(s, c)
		}
	}()
	return w, "redis://" + w.addr + "/0"
}

func (w *wire) pass(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		for w.cut.Load() {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Duration(w.delay.Load()))
		if _, e := to.Write(buf[:n]); err != nil || e != nil {
			return
		}
	}
}

// fleetTest is a coordinator with its agents, their Redis and their target.
type fleetTest struct {
	target  *logged
	redis   string
	stop    func() error
	wire    *wire
	agents  []*exec.Cmd
	ends    [3]func() error // each waits until an agent has ended
	said    [3]bytes.Buffer // what it said, may be read after that
	lead    *exec.Cmd
	wait    func() error // waits until lead has ended
	out     bytes.Buffer // may be read after that
	dir     string
	control lab.RedisClient
}

// The load of a fleet: first some requests by all clients together, then steady ones.
const (
	fleetClients = 5
	fleetRate    = 40 // requests a second of each client
	fleetBegin   = fleetClients * (12 + 40)
)

// startFleet starts them for a load of so many seconds. The connection of the first agent can be cut.
func startFleet(t *testing.T, delay time.Duration, seconds int) *fleetTest {
	t.Helper()
	server, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed")
	}
	x := &fleetTest{target: newLogged(t), dir: t.TempDir()}
	for tries := 1; x.stop == nil; tries++ {
		if x.redis, x.stop, err = startInstalledRedis(server); err != nil && tries == 5 {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = x.stop() })
	if x.control, err = lab.OpenRedis(x.redis); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.control.Close() })
	var way string
	x.wire, way = newWire(t, x.redis)
	x.wire.delay.Store(int64(delay))
	writeLogged(t, x.dir, "40", fmt.Sprintf("%d/s", fleetRate), fmt.Sprintf("%ds", seconds))
	for i := range 3 {
		url := map[bool]string{true: way, false: x.redis}[i == 0]
		a := program(t, x.dir, "agent", "-q", "--redis", url, "--name", fmt.Sprintf("agent-%d", i+1))
		a.Env, a.Stderr = append(a.Env, "TMPDIR="+x.dir), &x.said[i]
		x.agents = append(x.agents, a)
		x.ends[i] = begin(t, a)
	}
	x.lead = program(t, x.dir, "run", "logged.yaml", "-t", x.target.URL, "--limit", bigLimit, "--agents", "3",
		"--redis", x.redis, "--out", "run")
	x.lead.Stdout, x.lead.Stderr = &x.out, &x.out
	x.wait = begin(t, x.lead)
	return x
}

// begin starts a program that is killed with the test, and returns a function that waits for its end.
func begin(t *testing.T, c *exec.Cmd) (wait func() error) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	wait = sync.OnceValue(c.Wait)
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGCONT)
		_ = c.Process.Kill()
		_ = wait() // it was killed, or has ended
	})
	return wait
}

// loaded waits until load has come for a while. It returns false if the run ends before.
func (x *fleetTest) loaded() bool {
	ended := make(chan error, 1)
	go func() { ended <- x.wait() }()
	for len(x.target.lines()) <= fleetBegin+fleetClients*fleetRate {
		select {
		case <-ended:
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
	return true
}

// quiet returns when the last request came, once none has come for some seconds.
func (x *fleetTest) quiet() time.Time {
	for n := -1; n != len(x.target.lines()); time.Sleep(2 * time.Second) {
		n = len(x.target.lines())
	}
	log := x.target.lines()
	return log[len(log)-1]
}

// realFaults are what goes wrong, and what the run says of it: "" if no process is left to say it.
var realFaults = map[string]struct {
	fault func(x *fleetTest)
	told  string
}{
	"agent killed": {func(x *fleetTest) { _ = x.agents[1].Process.Kill() },
		"agent agent-2: it gave no sign of life"},
	"agent stopped": {func(x *fleetTest) { _ = x.agents[2].Process.Signal(syscall.SIGSTOP) },
		"agent agent-3: it gave no sign of life"},
	"coordinator killed": {func(x *fleetTest) { _ = x.lead.Process.Kill() }, ""},
	"Redis killed":       {func(x *fleetTest) { _ = x.stop() }, "the Redis did not answer"},
	"way cut": {func(x *fleetTest) { x.wire.cut.Store(true) },
		"agent agent-1: it gave no sign of life"},
	"way slow": {func(x *fleetTest) { x.wire.delay.Store(int64(700 * time.Millisecond)) },
		"agent agent-1"},
	"Redis full": {func(x *fleetTest) {
		_ = x.control.ConfigSet(context.Background(), "maxmemory", "1").Err()
	}, "agent"},
}

// TestRealFleetsStop: whatever goes wrong with real processes, the load ends long before its plan does. The
// run is INCONCLUSIVE and says whose requests are missing. Package fleet shows in virtual time that the load
// ends within a second. Here that may take longer, by as much as the machine stands still.
func TestRealFleetsStop(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute")
	}
	for name, f := range realFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			tries(t, func() (string, bool) {
				x := startFleet(t, 0, 20)
				if !x.loaded() {
					if !parted(x.out.Bytes()) {
						t.Fatalf("no load came: %s", &x.out)
					}
					return x.out.String(), false
				}
				wrong := time.Now()
				f.fault(x)
				after := x.quiet().Sub(wrong)
				t.Logf("the load ended %v after it", after.Round(time.Millisecond))
				if after > 7*time.Second { // half of what was left of the plan
					return fmt.Sprintf("the load went on for %v", after), false
				}
				if name == "coordinator killed" || name == "Redis killed" {
					x.allKept(t)
				}
				if f.told == "" {
					return "", true
				}
				err := x.wait()
				text := strings.Join(strings.Fields(x.out.String()), " ")
				why := fmt.Sprintf("got %v, %s, want %q", err, &x.out, f.told)
				return why, x.lead.ProcessState.ExitCode() == cli.ExitInconclusive &&
					strings.Contains(text, f.told)
			})
		})
	}
}

// allKept waits until the agents have kept what they recorded, and checks that it is all that came.
func (x *fleetTest) allKept(t *testing.T) {
	t.Helper()
	kept := 0
	for i, end := range x.ends {
		_ = end() // it lost its run
		path := regexp.MustCompile(`kept in (\S+)`).FindStringSubmatch(x.said[i].String())
		if path == nil {
			t.Fatalf("agent %d kept nothing: %s", i+1, &x.said[i])
		}
		tl, err := rundir.ReadRecording(path[1])
		if err != nil {
			t.Fatal(err)
		}
		kept += tl.Sent()
	}
	if came := len(x.target.lines()); kept < came {
		t.Errorf("agents kept %d requests of %d that came", kept, came)
	}
}

// slowSeconds is how long the load goes on over a slow connection. The clocks are compared before that.
const slowSeconds = 3

// TestASlowWayIsRightOrRefused: a delay of some milliseconds makes intervals wider. A long one is refused
// before anything is sent.
func TestASlowWayIsRightOrRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute")
	}
	t.Parallel()
	for _, delay := range []time.Duration{2 * time.Millisecond, 40 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			t.Parallel()
			x := startFleet(t, delay, slowSeconds)
			_ = x.wait() // its output is checked below
			var r struct {
				Scenarios []struct {
					Reason, Detail string
					Clock          struct {
						Error int64 `json:"clock_error_ns"`
					}
				}
			}
			text, err := os.ReadFile(filepath.Join(x.dir, "run", "report.json"))
			if err == nil {
				err = json.Unmarshal(text, &r)
			}
			if err != nil {
				t.Fatalf("%v: %s", err, &x.out)
			}
			sent, out := len(x.target.lines()), x.out.String()
			passed := strings.Contains(out, "PASS: logged")
			open := strings.Contains(out, "INCONCLUSIVE: logged")
			switch detail := r.Scenarios[0].Detail; {
			case delay > 10*time.Millisecond && (sent > 0 || !strings.Contains(detail, "agent-1: its clock")),
				passed && sent != fleetBegin+fleetClients*fleetRate*slowSeconds,
				!passed && (!open || detail == ""): // the machine stood still
				t.Errorf("%v: %d were sent: %s", delay, sent, out)
			}
		})
	}
}
