package lab

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"
)

// startRedis starts a redis-server on a free loopback port. It returns its URL and a function that stops it.
func startRedis(t testing.TB) (url string, stop func()) {
	t.Helper()
	addr, stop := startServer(t, "--save", "", "--appendonly", "no")
	return "redis://" + addr + "/0", stop
}

// startServer starts a redis-server with more arguments on a free loopback port. It returns its address and a
// function that stops it.
func startServer(t testing.TB, args ...string) (addr string, stop func()) {
	t.Helper()
	program := redisServer(t)
	// Another program may take the port between asking the kernel for it and using it. The server then ends
	// at once.
	for range 5 {
		port := freePort(t)
		all := append(slices.Clone(args), "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir())
		for i := range all {
			if all[i] == busPort {
				all[i] = freePort(t)
			}
		}
		if stop := launch(t, exec.Command(program, all...)); stop != nil {
			t.Cleanup(stop)
			return "127.0.0.1:" + port, stop
		}
	}
	t.Fatal("redis-server did not start on any of 5 ports")
	return "", nil
}

// redisServer returns the path of the program. Without it the test fails where servers are required, and is
// skipped otherwise. It is also skipped in a short run.
func redisServer(t testing.TB) string {
	t.Helper()
	required := os.Getenv("CI") == "true" || os.Getenv("RLCHECK_REQUIRE_SERVERS") == "1"
	if testing.Short() && !required {
		t.Skip("a short run starts no servers")
	}
	program, err := exec.LookPath("redis-server")
	switch {
	case err != nil && required:
		t.Fatal("redis-server is not installed, and servers are required here")
	case err != nil:
		t.Skip("redis-server is not installed")
	}
	return program
}

// busPort stands for a free port among the arguments of startServer.
const busPort = "BUS-PORT"

// launch starts a server and returns a function that stops it. It waits until this server has the port and
// says that it is ready. The result is nil if the server ends before, as where another one took the port.
func launch(t testing.TB, c *exec.Cmd) (stop func()) {
	t.Helper()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan bool, 1), make(chan struct{})
	go func() {
		said, told := "", false
		// it reads on, so that the server need not wait for a reader
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if said += lines.Text() + "\n"; !told && isReady.MatchString(lines.Text()) {
				told = true
				ready <- true
			}
		}
		// The server is killed, and the error says only that.
		_ = c.Wait()
		if !told {
			t.Logf("redis-server ended: %s", said)
			ready <- false
		}
		close(ended)
	}()
	stop = sync.OnceFunc(func() {
		if err := c.Process.Kill(); err != nil {
			t.Logf("stopping redis-server: %v", err)
		}
		<-ended
	})
	select {
	case is := <-ready:
		if is {
			return stop
		}
	case <-time.After(2 * time.Minute):
		t.Log("redis-server does not say that it is ready")
	}
	stop()
	return nil
}

// isReady matches the line by which a server or a sentinel says that it is ready.
var isReady = regexp.MustCompile(`Ready to accept connections|Sentinel ID is`)

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
