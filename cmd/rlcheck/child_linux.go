package main

import (
	"os/exec"
	"syscall"
)

// endWithUs makes the system end a child by a signal when this program is killed.
func endWithUs(c *exec.Cmd, by syscall.Signal) {
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: by, Setpgid: true}
}
