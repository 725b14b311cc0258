//go:build !linux

package transport

import (
	"runtime"
	"time"
)

func (precise) Enter() func() {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// nap sleeps with the timers of the runtime, which are about a millisecond late.
func nap(d time.Duration) { time.Sleep(d) }

// yield does nothing.
func yield() {}
