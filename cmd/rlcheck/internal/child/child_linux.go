package child

import (
	"os/exec"
	"syscall"
)

// endWithUs makes the system end a child when this program is killed.
func endWithUs(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
