package trial

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// events performs the actions between phases, such as a restart of the target. It keeps the first error.
type events struct {
	embedded Embedded
	output   io.Writer
	own      map[timeline.Action]func(timeline.Event) (int64, error)
	failed   error
	// counted are the results of the Count actions so far.
	counted []int64
}

// do performs one event: on the embedded target itself, or with the command that the scenario gives for
// another target.
func (x *events) do(ctx context.Context, e timeline.Event) error {
	var err error
	switch own := x.own[e.Action]; {
	case own != nil:
		var n int64
		if n, err = own(e); e.Action == timeline.Count {
			x.counted = append(x.counted, n)
		}
	case e.Action == timeline.Count:
		err = x.count(ctx, e)
	case x.embedded == nil:
		err = RunCommand(ctx, e.Command, e.Timeout, x.output)
	default:
		err = x.embedded.Do(e)
	}
	if err != nil && x.failed == nil && ctx.Err() == nil {
		x.failed = fmt.Errorf("%s: %w", e.Action, err)
	}
	return err
}

// count records how many requests the target says that it denied. For a target that is not embedded, the
// command prints that number.
func (x *events) count(ctx context.Context, e timeline.Event) error {
	if x.embedded != nil {
		x.counted = append(x.counted, x.embedded.Denials())
		return nil
	}
	var out bytes.Buffer
	if err := RunCommand(ctx, e.Command, e.Timeout, &out); err != nil {
		_, _ = x.output.Write(out.Bytes()) // for the reader of the error
		return err
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
	if err != nil || n < 0 || n != math.Trunc(n) || n > 1<<53 {
		return fmt.Errorf("command %q: it printed %q: it must print the number of requests that the "+
			"target has denied, such as 1234", e.Command, cut(out.String()))
	}
	x.counted = append(x.counted, int64(n))
	return nil
}

// cut returns the first 80 bytes of a text, for an error message.
func cut(text string) string { return text[:min(len(text), 80)] }

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
