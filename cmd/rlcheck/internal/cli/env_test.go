//go:build unix

package cli

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestAnEchoOfASignalEndsNothing: a signal that comes twice, as timeout sends it, does not end the program
// before its reports are written. If it did, this test would end with the program.
func TestAnEchoOfASignalEndsNothing(t *testing.T) {
	ctx, _ := interruptible(time.Hour) // not stopped: the last signal may still be on its way at the end
	for range 200 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		runtime.Gosched()
	}
}
