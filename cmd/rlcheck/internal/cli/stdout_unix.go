//go:build darwin || linux

package cli

import (
	"os"
	"syscall"
)

// Nowhere tells whether f seems to be closed, as in `rlcheck list >&-`. Go opens /dev/null for reading and
// writing in place of a closed standard file, before main begins. A shell's >/dev/null is only for writing.
//
// Python's DEVNULL and Node's "ignore" are also opened for both, and mean no mistake. So this can be said,
// but is no reason for another exit status.
func Nowhere(f *os.File) bool {
	info, err := f.Stat()
	null, errNull := os.Stat(os.DevNull)
	if err != nil || errNull != nil || !os.SameFile(info, null) {
		return false
	}
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFL, 0)
	return errno == 0 && flags&syscall.O_ACCMODE == syscall.O_RDWR
}
