package live

import "syscall"

// withParent makes the kernel end a process when the thread that started it ends.
func withParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
