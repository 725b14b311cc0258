package target

import (
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// startRedis starts a redis-server on a free loopback port and returns its URL and what stops it.
func startRedis(t testing.TB) (url string, stop func()) {
	t.Helper()
	addr, stop := startServer(t, "--save", "", "--appendonly", "no")
	return "redis://" + addr + "/0", stop
}

// startServer starts a redis-server with more arguments on a free loopback port and returns its address and what stops it.
// Without the program the test is skipped, or fails where servers are required.
func startServer(t testing.TB, args ...string) (addr string, stop func()) {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("RLCHECK_REQUIRE_SERVERS") == "1" {
			t.Fatal("redis-server is not installed, and servers are required here")
		}
		t.Skip("redis-server is not installed")
	}
	// Between asking the kernel for a port and using it another program may take it; then the server ends at once.
	for range 5 {
		addr := "127.0.0.1:" + freePort(t)
		_, port, _ := net.SplitHostPort(addr)
		all := append(args, "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir())
		c := exec.Command(program, all...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			// It is killed: the error says so and nothing else.
			_ = c.Wait()
			close(ended)
		}()
		stop := sync.OnceFunc(func() {
			if err := c.Process.Kill(); err != nil {
				t.Logf("stopping redis-server: %v", err)
			}
			<-ended
		})
		if accepts(addr, ended) {
			t.Cleanup(stop)
			return addr, stop
		}
		stop()
	}
	t.Fatal("redis-server did not start on any of 5 ports")
	return "", nil
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// accepts waits until an address takes connections, or ended is closed.
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
