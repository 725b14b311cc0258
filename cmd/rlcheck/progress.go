package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/rlcheck/rlcheck/internal/load"
)

// meter shows in one line of a terminal how far a scenario has come; nil where none is wanted. Nothing that
// happens to it costs a recording: its goroutine survives a panic, and a terminal that takes nothing is left.
type meter struct {
	out   io.Writer
	label string
	// lasts is how long the load takes at least, after how long the scenarios take that follow; 0: not known.
	lasts, after time.Duration
	// columns returns the width of the terminal.
	columns func() int
	seen    atomic.Pointer[load.Progress]
	// began is when the first progress came, widest the longest text so far, so that the bar does not jump.
	// Only the drawing goroutine uses them.
	began      time.Time
	widest     int
	quit, done chan struct{}
}

const (
	// frames is how often the line is drawn.
	frames = 120 * time.Millisecond
	// wideEnough is the width of a terminal, in columns, from which the name of the phase is shown.
	wideEnough = 100
	// unknownWidth is the width of a terminal that does not tell it, or tells 0.
	unknownWidth = 80
	// shortestBar and longestBar bound the bar without its brackets, in columns.
	shortestBar, longestBar = 8, 40
	// farewell is how long stop waits for a terminal.
	farewell = 300 * time.Millisecond
)

// newMeter starts the line on stderr if that is a terminal.
func (e *env) newMeter(label string, lasts, after time.Duration) *meter {
	fd, width := terminal(e.say.err)
	dumb, _ := e.getenv("TERM")
	ci, _ := e.getenv("CI")
	if width == 0 || e.quiet || e.noProgress || dumb == "dumb" || ci != "" {
		return nil
	}
	return startMeter(&meter{out: e.say.err, label: label, lasts: lasts, after: after, columns: func() int {
		columns, _, err := term.GetSize(fd) // each time: a terminal is resized
		if err != nil || columns <= 0 {
			return unknownWidth
		}
		return columns
	}})
}

func startMeter(m *meter) *meter {
	m.quit, m.done = make(chan struct{}), make(chan struct{})
	go m.draw()
	return m
}

// draw draws until stop is called, and wipes the line then.
func (m *meter) draw() {
	defer close(m.done)
	defer func() { _ = recover() }() // better no line than no recording
	tick := time.NewTicker(frames)
	defer tick.Stop()
	for {
		m.write(m.line(m.columns() - 1)) // in the last column some terminals wrap
		select {
		case <-m.quit:
			m.write("")
			return
		case <-tick.C:
		}
	}
}

// write puts a line in the place of the one before. It begins at the first column, so that what the terminal
// echoed meanwhile (^C) is wiped too. There is no second line: the height of the terminal does not matter.
func (m *meter) write(line string) {
	wipe := "\r\x1b[2K"
	if runtime.GOOS == "windows" { // whose consoles have escapes off at first
		wipe = "\r" + strings.Repeat(" ", max(m.columns()-1, 0)) + "\r"
	}
	_, _ = io.WriteString(m.out, wipe+line) // the line is for the moment only
}

// line returns the line in at most so many columns.
func (m *meter) line(columns int) string {
	p := m.seen.Load()
	text := "connecting"
	if p != nil {
		text = m.text(p, columns >= wideEnough-1)
	}
	m.widest = max(m.widest, utf8.RuneCountInString(text))
	text = fmt.Sprintf("%-*s", min(m.widest, max(columns, 0)), text)
	bar := min(longestBar, columns-utf8.RuneCountInString(m.label)-m.widest-len(" [] "))
	line := m.label + " " + text
	if bar >= shortestBar {
		line = m.label + " " + m.bar(p, bar) + " " + text
	}
	runes := []rune(line)
	return string(runes[:min(len(runes), max(columns, 0))])
}

// text says in words how far the load has come.
func (m *meter) text(p *load.Progress, wide bool) string {
	text := fmt.Sprintf("%d allowed, %d denied, %d unknown, late %s", p.Allowed, p.Denied, p.Unknown,
		p.Late.Round(10*time.Microsecond))
	if wide {
		text = visible(p.Phase) + ": " + text
	}
	if m.began.IsZero() {
		m.began = time.Now()
	}
	left := max(m.lasts-time.Since(m.began), 0)
	if left > 0 {
		text += fmt.Sprintf(", %s left", seconds(left))
	}
	if m.after > 0 {
		text += fmt.Sprintf(", in all %s", seconds(left+m.after))
	}
	return text
}

// seconds rounds up to whole seconds.
func seconds(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// bar returns a bar of so many columns.
func (m *meter) bar(p *load.Progress, columns int) string {
	full := 0
	if p != nil && p.Planned > 0 {
		full = max(0, min(p.Sent, p.Planned)*(columns-1)/p.Planned)
	}
	return "[" + strings.Repeat("=", full) + ">" + strings.Repeat("-", columns-1-full) + "]"
}

// update shows how far the load has come. It never waits.
func (m *meter) update(p load.Progress) {
	if m != nil {
		m.seen.Store(&p)
	}
}

// stop removes the line. A terminal that takes nothing (Ctrl-S) is not waited for.
func (m *meter) stop() {
	if m == nil {
		return
	}
	close(m.quit)
	select {
	case <-m.done:
	case <-time.After(farewell):
	}
}
