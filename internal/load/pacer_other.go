//go:build !linux

package load

import (
	"runtime"
	"time"
)

func (precise) enter() func() {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// nap sleeps with the timers of the runtime, which are about a millisecond late.
func nap(d time.Duration) { time.Sleep(d) }
