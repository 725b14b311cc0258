package progress

import (
	"bytes"
	"io"
	"runtime"
	"strings"
)

// console is the terminal as mpb sees it: of a size that it can draw on, and never in the way. What mpb drew
// is cut to the real width and written by its own goroutine, so that no terminal makes mpb wait or panic.
//
// Note: mpb v8.16.1 flushes -1 lines on a terminal of 0 rows, and hangs or panics with it.
type console struct {
	bytes.Buffer
	out io.Writer
	// columns returns the width of the terminal in columns, asked anew for each frame: a terminal is resized.
	columns func() int
	// frames is the last line that was drawn and not yet written.
	frames chan string
	done   chan struct{}
}

const (
	// leastColumns is the least width that mpb is told: narrower terminals get the beginning of the line.
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

// IsTerminal is true: there is no bar anywhere else.
func (c *console) IsTerminal() bool { return true }

// GetTermSize returns a size in columns and rows that a bar fits on, whatever the terminal says.
func (c *console) GetTermSize() (width, height int, err error) {
	return max(c.columns()-1, leastColumns), toldRows, nil // in the last column some terminals wrap
}

// Flush takes the line that mpb drew. It never waits: a terminal that is slow misses frames.
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

// draw writes the frames, and wipes the line at the end.
func (c *console) draw() {
	defer close(c.done)
	defer func() { _ = recover() }() // better no line than no recording
	for line := range c.frames {
		c.write(cut(line, c.columns()-1))
	}
	c.write("")
}

// cut returns the beginning of a line.
func cut(line string, columns int) string {
	runes := []rune(line)
	return string(runes[:min(len(runes), max(columns, 0))])
}

// write puts a line in the place of the one before. It begins at the first column, so that what the terminal
// echoed meanwhile (^C) is wiped too. There is no second line: the height of the terminal does not matter.
func (c *console) write(line string) {
	wipe := "\r\x1b[2K"
	if runtime.GOOS == "windows" { // whose consoles have escapes off at first
		wipe = "\r" + strings.Repeat(" ", max(c.columns()-1, 0)) + "\r"
	}
	_, _ = io.WriteString(c.out, wipe+line) // the line is for the moment only
}
