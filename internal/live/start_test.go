package live

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Every server reports that its port is taken, in words that start recognises. None is left running.
func TestATakenPortIsNoticed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	taken := l.Addr().(*net.TCPAddr).Port
	for name, p := range map[string]program{
		"nginx": {binary: "nginx", template: "nginx.conf.tmpl",
			params: map[string]any{"Workers": 1, "Limits": []zone{{Name: "a", Rate: "1r/s"}}},
			args:   func(config string, _ int) []string { return []string{"-e", "stderr", "-c", config} }},
		"redis": {binary: "redis-server", template: "redis.conf.tmpl",
			args: func(config string, _ int) []string { return []string{config} }},
		"node": {binary: "node", args: func(_ string, port int) []string {
			return []string{"-e", "require('net').createServer().listen(" + strconv.Itoa(port) +
				", '127.0.0.1')"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := launch(t, p, find(t, p.binary), taken)
			if err == nil {
				t.Errorf("got a server at %s, where another one listens", s.addr)
			}
			if !portTaken.Match(s.log()) {
				t.Errorf("got the log %q, want one that tells of a taken port", s.log())
			}
			select {
			case <-s.ended:
			default:
				t.Error("the process is still there")
			}
		})
	}
}

// A server that ends before it listens is an error, at once and with its log.
func TestAServerThatCannotStartIsReported(t *testing.T) {
	t.Parallel()
	p := program{binary: "redis-server",
		args: func(string, int) []string { return []string{"--no-such-option", "x"} }}
	s, err := launch(t, p, find(t, p.binary), freePort(t))
	if err == nil || !strings.Contains(string(s.log()), "no-such-option") {
		t.Errorf("got %v and the log %q, want an error and the reason", err, s.log())
	}
}

// A missing program skips a test, unless it is demanded.
func TestWhatIsMissingSkipsOrFails(t *testing.T) {
	if os.Getenv("RLCHECK_LIVE_MISSING") != "" {
		find(t, "no-such-server")
		return
	}
	for demand, want := range map[string]string{"CI=false": "--- SKIP", "CI=true": "--- FAIL",
		"RLCHECK_REQUIRE_SERVERS=1": "--- FAIL"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWhatIsMissingSkipsOrFails$", "-test.v")
		cmd.Env = append(os.Environ(), "CI=", "RLCHECK_REQUIRE_SERVERS=", "RLCHECK_LIVE_MISSING=1", demand)
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), want) ||
			!strings.Contains(string(out), "no-such-server is not installed") ||
			(err != nil) != (want == "--- FAIL") {
			t.Errorf("%s: got %v and\n%s\nwant %s", demand, err, out, want)
		}
	}
}
