package rundir

import (
	"errors"
	"os"
	"syscall"
)

// errSharing is ERROR_SHARING_VIOLATION.
const errSharing = syscall.Errno(32)

// lockFile opens a file, and makes it if it does not exist. Nobody else can open it for writing until the
// process ends. The error is errHeld if another process has it.
func lockFile(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const access = syscall.GENERIC_READ | syscall.GENERIC_WRITE
	h, err := syscall.CreateFile(name, access, syscall.FILE_SHARE_READ, nil, syscall.OPEN_ALWAYS,
		syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case errors.Is(err, errSharing):
		return nil, errHeld
	case err != nil:
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}

// isHeld tells whether a process holds the lock on a file.
func isHeld(path string) bool {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_ = f.Close() // nothing was written
	}
	return errors.Is(err, errSharing)
}
