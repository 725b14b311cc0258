package cli

import (
	"bytes"
	"io"
	"runtime"
	"strings"
)

// console is the terminal as mpb sees it. Its size is always large enough to draw on. Its own goroutine cuts
// what mpb drew to the real width and writes it, so no terminal makes mpb wait or panic.
//
// mpb v8.16.1 flushes -1 lines on a terminal of 0 rows, and hangs or panics.
type console struct {
	bytes.Buffer
	out io.Writer
	// columns returns the width of the terminal in columns. It is asked again for each frame, as a terminal
	// may be resized.
	columns func() int
	// frames has the last line that was drawn and not yet written.
	frames chan string
	done   chan struct{}
}

const (
	// leastColumns is the least width that mpb is told. Narrower terminals get the beginning of the line.
	leastColumns = 40
	// toldRows is the height that mpb is told: one bar is one line.
	toldRows = 24
)

// openConsole starts to write to a terminal until close.
func openConsole(out io.Writer, columns func() int) *console {
	c := &console{out: out, columns: columns, frames: make(chan string, 1), done: make(chan struct{})}
	go c.draw()
	return c
}

// IsTerminal returns true: a bar is drawn only on a terminal.
func (c *console) IsTerminal() bool { return true }

// GetTermSize returns a size in columns and rows that a bar fits on, whatever the terminal says.
func (c *console) GetTermSize() (width, height int, err error) {
	return max(c.columns()-1, leastColumns), toldRows, nil // in the last column some terminals wrap
}

// Flush takes the line that mpb drew. It never waits, so a slow terminal misses frames.
func (c *console) Flush(int) error {
	line, _, _ := strings.Cut(c.String(), "\n")
	c.Reset()
	select {
	case <-c.frames:
	default:
	}
	c.frames <- line // only mpb's one goroutine sends
	return nil
}

// draw writes the frames, and clears the line at the end.
func (c *console) draw() {
	defer close(c.done)
	defer func() { _ = recover() }() // better no line than no recording
	for line := range c.frames {
		c.write(cut(line, c.columns()-1))
	}
	c.write("")
}

func cut(line string, columns int) string {
	runes := []rune(line)
	return string(runes[:min(len(runes), max(columns, 0))])
}

// write replaces the line. It begins at the first column, so that it also clears what the terminal echoed
// meanwhile (^C). There is no second line, so the height of the terminal does not matter.
func (c *console) write(line string) {
	wipe := "\r\x1b[2K"
	if runtime.GOOS == "windows" { // its consoles have escapes off at first
		wipe = "\r" + strings.Repeat(" ", max(c.columns()-1, 0)) + "\r"
	}
	_, _ = io.WriteString(c.out, wipe+line) // the line is only temporary
}
