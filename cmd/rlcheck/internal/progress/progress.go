// Package progress shows how far a run is: in one line of a terminal, or now and then in a line of its own.
package progress

import (
	"cmp"
	"fmt"
	"io"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/load"
)

// Meter shows in one line of a terminal how far a scenario has come; nil where none is wanted. Nothing that
// happens to it costs a recording: see console.
type Meter struct {
	progress *mpb.Progress
	bar      *mpb.Bar
	console  *console
	// lasts is how long the load takes by its plan, after how long the scenarios that follow; 0: not known.
	lasts, after time.Duration
	// budget says how much time is used of what there is, where there is no plan; nil: there is one.
	budget func() string
	seen   atomic.Pointer[load.Progress]
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
	// unknownWidth is the width of a terminal that is one no longer.
	unknownWidth = 80
	// longestBar bounds the bar, in columns.
	longestBar = 40
	// farewell is how long stop waits for a terminal.
	farewell = 2 * time.Second
)

// NewMeter starts the line on stderr if that is a terminal.
func NewMeter(e *cli.Env, label string, lasts, after time.Duration) *Meter {
	if !wantsMeter(e) {
		return nil
	}
	return startMeter(e.Say.Err, label, lasts, after, func() int {
		return cmp.Or(cli.Terminal(e.Say.Err), unknownWidth)
	})
}

// wantsMeter tells whether stderr is a terminal that is to show the progress.
func wantsMeter(e *cli.Env) bool {
	dumb, _ := e.Getenv("TERM")
	ci, _ := e.Getenv("CI")
	return cli.Terminal(e.Say.Err) > 0 && !e.Quiet && !e.NoProgress && dumb != "dumb" && ci == ""
}

// startMeter draws on a terminal that tells its width in columns.
func startMeter(out io.Writer, label string, lasts, after time.Duration, columns func() int) *Meter {
	m := &Meter{lasts: lasts, after: after, console: openConsole(out, columns)}
	m.progress = mpb.New(mpb.WithConsoleWriter(m.console), mpb.WithWidth(longestBar),
		mpb.WithRefreshRate(refresh))
	m.bar = m.progress.AddBar(0, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(label)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return m.text() })))
	return m
}

// text says in words how far the load has come.
func (m *Meter) text() string {
	text := "connecting"
	if p := m.seen.Load(); p != nil {
		text = m.counts(p)
		if m.console.columns() >= wideEnough {
			text = cli.Visible(p.Phase) + ": " + text
		}
	}
	m.widest = max(m.widest, utf8.RuneCountInString(text))
	return fmt.Sprintf("%-*s", m.widest, text)
}

// counts says what was answered so far, and how long it will take.
func (m *Meter) counts(p *load.Progress) string {
	if m.budget != nil {
		return fmt.Sprintf("%d allowed, %d denied, %d unknown, %s", p.Allowed, p.Denied, p.Unknown,
			m.budget())
	}
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

// Update shows how far the load has come.
func (m *Meter) Update(p load.Progress) {
	if m == nil {
		return
	}
	m.seen.Store(&p)
	planned := max(int64(p.Planned), 1)
	m.bar.SetTotal(planned, false)                  // of a bar that began with 0, as often as wanted
	m.bar.SetCurrent(min(int64(p.Sent), planned-1)) // the last step is stop's
}

// Stop removes the line. A terminal that takes nothing (Ctrl-S) is not waited for.
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
