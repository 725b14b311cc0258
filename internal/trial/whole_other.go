//go:build !unix

package trial

import "os/exec"

// whole leaves a command as it is.
func whole(*exec.Cmd) {}
