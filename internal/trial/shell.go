package trial

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// RunCommand gives a line to the shell, with no input, and waits for its end, but not longer than a timeout.
// What it has started ends with it. Errors: an exit status that is not 0, or the timeout.
func RunCommand(ctx context.Context, line string, timeout time.Duration, output io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	c.Stdout, c.Stderr = output, output
	c.WaitDelay = time.Second // what the command has started may hold on to its output
	whole(c)
	err := c.Run()
	if ctx.Err() == context.DeadlineExceeded {
		return fmt.Errorf("command %q: not done within %v (raise timeout)", line, timeout)
	}
	if err != nil {
		return fmt.Errorf("command %q: %w", line, err)
	}
	return nil
}
