//go:build unix

package trial

import (
	"os/exec"
	"syscall"
)

// whole makes the end of a command the end of all that it started.
func whole(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
