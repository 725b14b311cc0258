package live

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"text/template"
	"time"
)

// program is a server that a test can start.
type program struct {
	binary string
	// template is the name of its configuration in testdata; "" for a program without one. params is rendered
	// into it as .Name.
	template string
	params   map[string]any
	// args returns its arguments, from the path of the rendered configuration and the port.
	args func(config string, port int) []string
	// dir is the folder it is started in; "" for a new one.
	dir string
}

// Bounds of the life of a server.
const (
	startTries = 5
	startTime  = 2 * time.Minute
	stopTime   = 10 * time.Second
)

// portTaken recognises the message of a server whose port was taken between the choice and its start.
var portTaken = regexp.MustCompile(`(?i)address (is )?already in use|EADDRINUSE`)

// start starts p on a free loopback port and returns the address at which it accepts connections. It is
// stopped when the test ends. Its log is printed if the test failed.
func start(t testing.TB, p program) string {
	t.Helper()
	binary := find(t, p.binary)
	for range startTries {
		s, err := launch(t, p, binary, freePort(t))
		if err == nil {
			t.Cleanup(func() {
				s.stop()
				if t.Failed() {
					t.Logf("log of %s at %s:\n%s", p.binary, s.addr, s.log())
				}
			})
			return s.addr
		}
		if !portTaken.Match(s.log()) {
			t.Fatalf("%s: %v\n%s", p.binary, err, s.log())
		}
	}
	t.Fatalf("%s: no free port in %d tries", p.binary, startTries)
	return ""
}

// find returns the path of a binary, also in folders for daemons that are not on a user's PATH.
func find(t testing.TB, binary string) string {
	t.Helper()
	for _, name := range []string{binary, "/usr/sbin/" + binary, "/usr/local/sbin/" + binary} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "%s is not installed", binary)
	return ""
}

// missing skips a test that cannot run here. It fails the test if everything must be installed.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" || os.Getenv("RLCHECK_REQUIRE_SERVERS") == "1" {
		t.Fatalf(format+", and CI or RLCHECK_REQUIRE_SERVERS demands it", args...)
	}
	t.Skipf(format, args...)
}

// process is a started server.
type process struct {
	cmd  *exec.Cmd
	addr string
	out  output
	// ended is closed when the process has ended.
	ended chan struct{}
}

// launch starts p once and waits until it accepts connections. The process is never nil.
func launch(t testing.TB, p program, binary string, port int) (*process, error) {
	t.Helper()
	s := &process{addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), ended: make(chan struct{})}
	dir := t.TempDir()
	config := ""
	if p.template != "" {
		config = render(t, p, dir, port)
	}
	s.cmd = exec.Command(binary, p.args(config, port)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	s.cmd.SysProcAttr = withParent()
	if s.cmd.Dir = p.dir; p.dir == "" {
		s.cmd.Dir = dir
	}
	if err := s.spawn(); err != nil {
		return s, err
	}
	if err := s.wait(port); err != nil {
		s.stop()
		return s, err
	}
	return s, nil
}

// spawn starts the process from a thread that lives as long as the process, since the kernel watches that
// thread.
func (s *process) spawn() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(s.ended)
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait() // the exit status of a stopped server does not matter
		}
	}()
	return <-started
}

// wait returns when the server accepts a connection. No request is sent: it would spend quota.
func (s *process) wait(port int) error {
	const rest = 10 * time.Millisecond
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); time.Sleep(rest) {
		if portTaken.Match(s.log()) {
			return fmt.Errorf("the port of %s was taken", s.addr)
		}
		select {
		case <-s.ended:
			return fmt.Errorf("ended before it accepted connections: %s", s.cmd.ProcessState)
		default:
		}
		if !listens(s.cmd.Process.Pid, port) {
			continue
		}
		c, err := net.DialTimeout("tcp", s.addr, 10*time.Second)
		if err == nil {
			return c.Close()
		}
	}
	return fmt.Errorf("no connection to %s within %s", s.addr, startTime)
}

// stop asks the process to end, and then kills it.
func (s *process) stop() {
	if s.cmd.Process == nil {
		return
	}
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		_ = s.cmd.Process.Signal(sig) // it may have ended already
		select {
		case <-s.ended:
			return
		case <-time.After(stopTime):
		}
	}
}

func (s *process) log() []byte { return s.out.bytes() }

// output keeps what a process prints.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// maxLog is how much of a log is kept.
const maxLog = 64 << 10

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p[:min(len(p), maxLog-min(o.buf.Len(), maxLog))])
	return len(p), nil
}

func (o *output) bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.buf.Bytes())
}

// given are the ports that freePort returned. None is returned twice, so that parallel tests do not collide.
var given sync.Map

// freePort returns a port of loopback that nobody listens on.
func freePort(t testing.TB) int {
	t.Helper()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, taken := given.LoadOrStore(port, true); !taken {
			return port
		}
	}
}

// render writes the configuration of p into dir and returns its path.
func render(t testing.TB, p program, dir string, port int) string {
	t.Helper()
	tmpl, err := template.New(p.template).Option("missingkey=error").ParseFiles(filepath.Join("testdata",
		p.template))
	if err != nil {
		t.Fatal(err)
	}
	params := map[string]any{"Dir": dir, "Port": port}
	for name, value := range p.params {
		params[name] = value
	}
	var b bytes.Buffer
	if err := tmpl.Execute(&b, params); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, p.template[:len(p.template)-len(".tmpl")])
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
