//go:build !linux

package live

import "syscall"

// withParent does nothing where the kernel cannot end a process with its parent.
func withParent() *syscall.SysProcAttr { return nil }
