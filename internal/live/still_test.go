package live

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// HAProxy takes it for a jump of the clock when more than 100 ms pass beyond the time it meant to sleep, and leaves them out
// of its own time for good (src/clock.c of 2.6, clock_update_date): on a machine that stands still its periods are longer
// than declared, and the judge is right to say so. A FAIL from a run in which the machine stood still for stoodStill says
// nothing of the algorithm. It is less than 100 ms, since the watcher is not HAProxy.
const stoodStill = 50 * time.Millisecond

// watcherMode is the variable that makes the test binary a watcher.
const watcherMode = "RLCHECK_LIVE_WATCHER"

func TestMain(m *testing.M) {
	if os.Getenv(watcherMode) != "" {
		watchUntilEOF()
		return
	}
	m.Run()
}

// watch starts a process that sleeps a millisecond at a time, and returns a function that ends it and tells how long the
// longest of its sleeps was: as long as a process that is as idle as a server had to wait for a processor.
func watch(t testing.TB) (longest func() time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), watcherMode+"=1", "GOMAXPROCS=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() time.Duration {
		in.Close()
		var ns int64
		_, err := fmt.Fscan(bufio.NewReader(out), &ns)
		if waited := cmd.Wait(); err != nil || waited != nil {
			t.Fatalf("the watcher: %v, %v", err, waited)
		}
		return time.Duration(ns)
	}
}

// watchUntilEOF measures sleeps until standard input ends, which it does with the parent at the latest.
func watchUntilEOF() {
	over := make(chan struct{})
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		close(over)
	}()
	worst, last := time.Duration(0), time.Now()
	for {
		select {
		case <-over:
			fmt.Println(worst.Nanoseconds())
			return
		default:
			time.Sleep(time.Millisecond)
			now := time.Now()
			worst, last = max(worst, now.Sub(last)), now
		}
	}
}
