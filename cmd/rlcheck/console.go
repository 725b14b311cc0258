package main

import (
	"bytes"
	"os"
	"strings"

	"golang.org/x/term"
)

// console draws the lines of a bar over those of the frame before. Each frame begins at the first column, so that what the
// terminal echoed meanwhile (^C) is wiped with the frame it was written into.
type console struct {
	bytes.Buffer
	out   *os.File
	lines int
}

// IsTerminal is true: there is no bar anywhere else.
func (c *console) IsTerminal() bool { return true }

// GetTermSize returns the size in columns and rows.
func (c *console) GetTermSize() (width, height int, err error) { return term.GetSize(int(c.out.Fd())) }

// Flush draws what was written since the last one; lines is how many it has.
func (c *console) Flush(lines int) error {
	// Note: erasing to the end of the screen (ESC [J) from its first line makes some terminals keep each frame in their
	// history. Erasing line by line does not.
	frame := "\r\x1b[2K" + strings.Repeat("\x1b[1A\x1b[2K", c.lines)
	_, err := c.out.Write(append([]byte(frame), c.Bytes()...))
	c.Reset()
	c.lines = lines
	return err
}
