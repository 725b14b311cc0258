package lab

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// servedVariable makes TestServe a server, in a process of its own, for the limit that it holds.
const servedVariable = "RLCHECK_TEST_SERVE"

// TestServe is the process of a target under measurement. It prints its address and ends when its input does.
func TestServe(t *testing.T) {
	spec := os.Getenv(servedVariable)
	if spec == "" {
		t.Skip("no other process asks for a server")
	}
	target, err := New(Options{Limit: parse(t, spec)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Listen(target, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("serving", s.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// served is a server in another process.
type served struct {
	addr    string
	process *exec.Cmd
	end     func()
}

// serveApart starts TestServe.
func serveApart(b *testing.B, spec string) served {
	c := exec.Command(os.Args[0], "-test.run=^TestServe$", "-test.v")
	c.Env = append(os.Environ(), servedVariable+"="+spec)
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if addr, ok := bytes.CutPrefix(lines.Bytes(), []byte("serving ")); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return served{string(addr), c, func() { _ = in.Close(); _ = c.Wait() }}
		}
	}
	b.Fatal("the target did not start")
	return served{}
}

// serveNginx starts nginx with nothing but `return 200`, in one process.
func serveNginx(b *testing.B) served {
	program := ""
	for _, p := range []string{"nginx", "/usr/sbin/nginx"} {
		if found, err := exec.LookPath(p); err == nil {
			program = found
		}
	}
	if program == "" {
		b.Skip("nginx is not installed")
	}
	dir, addr := b.TempDir(), "127.0.0.1:"+openPort(b)
	config := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/log;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 100000000; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f;
uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s; server { listen %[2]s; location / { return 200 "allowed\n"; } } }`, dir, addr)
	file := filepath.Join(dir, "conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	c := exec.Command(program, "-c", file, "-e", filepath.Join(dir, "log"))
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(ended)
	}()
	s := served{addr, c, func() { _ = c.Process.Signal(os.Interrupt); <-ended }}
	if !accepts(addr, ended) {
		b.Fatal("nginx did not start")
	}
	return s
}

// closedLoop sends n requests over each of 64 connections. Each sends the next request after an answer.
func closedLoop(b *testing.B, addr string, n int) time.Duration {
	var wg sync.WaitGroup
	var wrong atomic.Int64
	began := time.Now()
	for i := range 64 {
		wg.Go(func() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer c.Close()
			request := fmt.Appendf(nil,
				"GET / HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nX-Api-Key: k%d\r\n\r\n", addr, i)
			answer := make([]byte, 4096)
			for range n {
				if _, err := c.Write(request); err != nil {
					b.Error(err)
					return
				}
				if got, err := c.Read(answer); err != nil ||
					!bytes.HasPrefix(answer[:got], []byte("HTTP/1.1 ")) {
					wrong.Add(1)
					return
				}
			}
		})
	}
	wg.Wait()
	if wrong.Load() > 0 {
		b.Errorf("%d connections got a wrong answer", wrong.Load())
	}
	return time.Since(began)
}

// BenchmarkServer measures the processor time of our target for a request, allowed and denied, with 64
// connections in a closed loop. It prints the ratio to nginx's `return 200` in the same run.
func BenchmarkServer(b *testing.B) {
	const each = 1500
	const allowed, denied = "token-bucket,rate=1000000/s,burst=1000000", "token-bucket,rate=1/1d,burst=1"
	cost := func(start func() served) float64 {
		s := start()
		closedLoop(b, s.addr, each)
		s.end()
		state := s.process.ProcessState
		return float64((state.UserTime() + state.SystemTime()).Microseconds()) / (64 * each)
	}
	for b.Loop() {
		nginx := cost(func() served { return serveNginx(b) })
		b.ReportMetric(nginx, "nginx-us/req")
		for name, start := range map[string]func() served{
			"allowed": func() served { return serveApart(b, allowed) },
			"denied":  func() served { return serveApart(b, denied) },
		} {
			us := cost(start)
			b.ReportMetric(us, name+"-us/req")
			b.ReportMetric(us/nginx, name+"/nginx")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// accepts waits until an address accepts connections or ended is closed.
func accepts(addr string, ended <-chan struct{}) bool {
	for range 500 {
		select {
		case <-ended:
			return false
		default:
		}
		if c, err := net.Dial("tcp", addr); err == nil {
			return c.Close() == nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// openPort returns a port that nothing listens at.
func openPort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
