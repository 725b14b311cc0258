//go:build !linux

package live

import "syscall"

// withParent does nothing where the kernel cannot end a process with its parent.
func withParent() *syscall.SysProcAttr { return nil }

// listens believes that who listens on a port is who was started, where there is no telling.
func listens(int, int) bool { return true }
