//go:build unix

package transport

import (
	"syscall"
	"time"
)

// CPUTime returns the processor time of this process, user and system; 0 if it is not known.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
