//go:build !linux

package live

import "syscall"

// withParent does nothing: here the kernel cannot end a process with its parent.
func withParent() *syscall.SysProcAttr { return nil }

// listens returns true: here one cannot tell which process listens on a port.
func listens(int, int) bool { return true }
