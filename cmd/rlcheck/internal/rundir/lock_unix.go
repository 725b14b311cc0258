//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package rundir

import (
	"errors"
	"os"
	"syscall"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
)

// lockFile opens a file, makes it if it does not exist, and takes a lock on it that ends with the process.
// The error is errHeld if another process has it.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, cli.Cause(err)
	}
	if held(f, syscall.LOCK_EX) {
		_ = f.Close() // nothing was written
		return nil, errHeld
	}
	return f, nil
}

// isHeld tells whether a process holds the lock on a file.
func isHeld(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return held(f, syscall.LOCK_SH)
}

// held tries to take a lock and tells whether somebody else has it. It returns false on a file system without
// locks.
func held(f *os.File, how int) bool {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return errors.Is(err, syscall.EWOULDBLOCK)
		}
	}
}
