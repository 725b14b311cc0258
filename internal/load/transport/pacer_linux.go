package transport

import (
	"runtime"
	"syscall"
	"time"
)

// prSetTimerSlack is PR_SET_TIMERSLACK of prctl(2). It is how late, in nanoseconds, the kernel may wake this
// thread in order to wake several at once. The default is 50,000; 0 restores the default.
const prSetTimerSlack = 29

func (precise) Enter() func() {
	runtime.LockOSThread()
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, 1, 0)
	return func() {
		syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, 0, 0)
		runtime.UnlockOSThread()
	}
}

// nap sleeps in the kernel, on this thread. It may end early.
func nap(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil) // interrupted by a signal: the caller looks at the clock
}

// yield lets another thread run on this processor, if one waits for it.
func yield() { syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
