package live

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// withParent makes the kernel end a process when the thread that started it ends.
func withParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}

// listens tells whether process pid is the one that listens on a loopback port, and not another one that was
// faster.
func listens(pid, port int) bool {
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return false
	}
	defer f.Close()
	const listening = "0A"
	want := fmt.Sprintf("0100007F:%04X", port)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
		if at := strings.Fields(lines.Text()); len(at) > 9 && at[1] == want && at[3] == listening &&
			holds(pid, "socket:["+at[9]+"]") {
			return true
		}
	}
	return false
}

// holds tells whether a process has a file open.
func holds(pid int, file string) bool {
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return false
	}
	for _, fd := range open {
		if to, err := os.Readlink(fd); err == nil && to == file {
			return true
		}
	}
	return false
}

// The watcher reports how long it did not run, to tests that began to watch before.
func TestTheWatcherTellsOfItsStalls(t *testing.T) {
	longest := watch(t)
	const stopped = 50 * time.Millisecond
	for _, sig := range []os.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := watcher.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if sig == syscall.SIGSTOP {
			time.Sleep(stopped)
		}
	}
	if got := longest(); got < stopped {
		t.Errorf("got %s, want at least the %s for which it was stopped", got, stopped)
	}
}
