package cli

import (
	"cmp"
	"fmt"
	"io"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/rlcheck/rlcheck/internal/load"
)

// Meter shows in one line of a terminal how far a scenario is. A nil Meter shows nothing. No failure of it
// costs a recording (console).
type Meter struct {
	progress *mpb.Progress
	bar      *mpb.Bar
	console  *console
	// lasts is how long the load takes by its plan, after how long the scenarios that follow take; 0: not
	// known.
	lasts, after time.Duration
	// budget says how much of the time is used, if there is no plan. nil: there is a plan.
	budget func() string
	seen   atomic.Pointer[load.Progress]
	// began is when the first progress came. widest is the longest text so far, so that the bar does not
	// jump. Only the drawing goroutine uses them.
	began  time.Time
	widest int
}

const (
	// refresh is how often the line is drawn.
	refresh = 120 * time.Millisecond
	// wideEnough is the width of a terminal, in columns, from which on the name of the phase is shown.
	wideEnough = 100
	// narrow is the width below which only numbers are shown.
	narrow = 60
	// unknownWidth is the width of a terminal whose width is no longer known.
	unknownWidth = 80
	// longestBar bounds the bar, in columns.
	longestBar = 40
	// farewell is how long Stop waits for a terminal.
	farewell = 2 * time.Second
)

// NewMeter starts the line on stderr if that is a terminal.
func NewMeter(e *Env, label string, lasts, after time.Duration) *Meter {
	if !wantsMeter(e) {
		return nil
	}
	return startMeter(e.Say.Err, label, lasts, after, func() int {
		return cmp.Or(Terminal(e.Say.Err), unknownWidth)
	})
}

// wantsMeter tells whether stderr is a terminal that shall show the progress.
func wantsMeter(e *Env) bool {
	dumb, _ := e.Getenv("TERM")
	ci, _ := e.Getenv("CI")
	return Terminal(e.Say.Err) > 0 && !e.Quiet && !e.NoProgress && dumb != "dumb" && ci == ""
}

// startMeter draws on a terminal. columns returns its width.
func startMeter(out io.Writer, label string, lasts, after time.Duration, columns func() int) *Meter {
	m := &Meter{lasts: lasts, after: after, console: openConsole(out, columns)}
	m.progress = mpb.New(mpb.WithConsoleWriter(m.console), mpb.WithWidth(longestBar),
		mpb.WithRefreshRate(refresh))
	m.bar = m.progress.AddBar(0, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(label)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return m.text() })))
	return m
}

// text says in words how far the load is.
func (m *Meter) text() string {
	text := "connecting"
	if p := m.seen.Load(); p != nil {
		text = m.counts(p)
		if m.console.columns() >= wideEnough {
			text = Visible(p.Phase) + ": " + text
		}
	}
	m.widest = max(m.widest, utf8.RuneCountInString(text))
	return fmt.Sprintf("%-*s", m.widest, text)
}

// counts says how many requests were answered so far, and how long the rest will take.
func (m *Meter) counts(p *load.Progress) string {
	if m.budget != nil {
		return fmt.Sprintf("%d allowed, %d denied, %d unknown, %s", p.Allowed, p.Denied, p.Unknown,
			m.budget())
	}
	if m.began.IsZero() {
		m.began = time.Now()
	}
	left := ""
	if d := max(m.lasts-time.Since(m.began), 0) + m.after; d > 0 {
		left = fmt.Sprintf(", %s left", seconds(d))
	}
	text := fmt.Sprintf("%d allowed, %d denied", p.Allowed, p.Denied)
	switch columns := m.console.columns(); {
	case columns < narrow:
		return fmt.Sprintf("%d+%d%s", p.Allowed, p.Denied, left)
	case columns < wideEnough && p.Unknown == 0:
		return text + left // the bar needs the room
	case columns < wideEnough:
		return fmt.Sprintf("%s, %d unknown%s", text, p.Unknown, left)
	}
	return fmt.Sprintf("%s, %d unknown, late %s%s", text, p.Unknown, p.Late.Round(10*time.Microsecond), left)
}

// seconds rounds up to whole seconds.
func seconds(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// Update shows how far the load is.
func (m *Meter) Update(p load.Progress) {
	if m == nil {
		return
	}
	m.seen.Store(&p)
	planned := max(int64(p.Planned), 1)
	m.bar.SetTotal(planned, false)                  // a bar with a total of 0 may be set as often as wanted
	m.bar.SetCurrent(min(int64(p.Sent), planned-1)) // the last step is that of Stop
}

// Stop removes the line. It does not wait for a terminal that takes nothing (Ctrl-S).
func (m *Meter) Stop() {
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
