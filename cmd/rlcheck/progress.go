package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/rlcheck/rlcheck/internal/load"
)

// meter shows in one line of a terminal how far a scenario has come; nil where none is wanted. Nothing that
// happens to it costs a recording: see console.
type meter struct {
	progress *mpb.Progress
	bar      *mpb.Bar
	console  *console
	// lasts is how long the load takes at least, after how long the scenarios take that follow; 0: not known.
	lasts, after time.Duration
	seen         atomic.Pointer[load.Progress]
	// began is when the first progress came, widest the longest text so far, so that the bar does not jump.
	// Only the drawing goroutine uses them.
	began  time.Time
	widest int
}

const (
	// refresh is how often the line is drawn.
	refresh = 120 * time.Millisecond
	// wideEnough is the width of a terminal, in columns, from which the name of the phase is shown.
	wideEnough = 100
	// unknownWidth is the width of a terminal that does not tell it, or tells 0.
	unknownWidth = 80
	// longestBar bounds the bar, in columns.
	longestBar = 40
	// farewell is how long stop waits for a terminal.
	farewell = 2 * time.Second
)

// newMeter starts the line on stderr if that is a terminal.
func (e *env) newMeter(label string, lasts, after time.Duration) *meter {
	if !e.wantsMeter() {
		return nil
	}
	fd, _ := terminal(e.say.err)
	return startMeter(e.say.err, label, lasts, after, func() int {
		columns, _, err := term.GetSize(fd)
		if err != nil || columns <= 0 {
			return unknownWidth
		}
		return columns
	})
}

// wantsMeter tells whether stderr is a terminal that is to show the progress.
func (e *env) wantsMeter() bool {
	_, width := terminal(e.say.err)
	dumb, _ := e.getenv("TERM")
	ci, _ := e.getenv("CI")
	return width > 0 && !e.quiet && !e.noProgress && dumb != "dumb" && ci == ""
}

// startMeter draws on a terminal that tells its width in columns.
func startMeter(out io.Writer, label string, lasts, after time.Duration, columns func() int) *meter {
	m := &meter{lasts: lasts, after: after, console: openConsole(out, columns)}
	m.progress = mpb.New(mpb.WithConsoleWriter(m.console), mpb.WithWidth(longestBar),
		mpb.WithRefreshRate(refresh))
	m.bar = m.progress.AddBar(0, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(label)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return m.text() })))
	return m
}

// text says in words how far the load has come.
func (m *meter) text() string {
	text := "connecting"
	if p := m.seen.Load(); p != nil {
		text = m.counts(p)
		if m.console.columns() >= wideEnough {
			text = visible(p.Phase) + ": " + text
		}
	}
	m.widest = max(m.widest, utf8.RuneCountInString(text))
	return fmt.Sprintf("%-*s", m.widest, text)
}

// counts says what was answered so far, and how long it will take.
func (m *meter) counts(p *load.Progress) string {
	text := fmt.Sprintf("%d allowed, %d denied, %d unknown, late %s", p.Allowed, p.Denied, p.Unknown,
		p.Late.Round(10*time.Microsecond))
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

// update shows how far the load has come.
func (m *meter) update(p load.Progress) {
	if m == nil {
		return
	}
	m.seen.Store(&p)
	planned := max(int64(p.Planned), 1)
	m.bar.SetTotal(planned, false)                  // of a bar that began with 0, as often as wanted
	m.bar.SetCurrent(min(int64(p.Sent), planned-1)) // the last step is stop's
}

// stop removes the line. A terminal that takes nothing (Ctrl-S) is not waited for.
func (m *meter) stop() {
	if m == nil {
		return
	}
	m.bar.Abort(true)
	m.progress.Wait()
	close(m.console.frames)
	select {
	case <-m.console.done:
	case <-time.After(farewell):
	}
}
