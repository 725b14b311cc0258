package main

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/rlcheck/rlcheck/internal/load"
)

// meter is the progress bar of one scenario; nil where none is wanted.
type meter struct {
	progress *mpb.Progress
	bar      *mpb.Bar
	seen     atomic.Pointer[load.Progress]
	// wide tells that there is room for the name of the phase.
	wide bool
	// columns is the widest text so far: the bar does not jump when a number grows. Only the drawing goroutine uses it.
	columns int
}

// wideEnough is the width of a terminal, in columns, from which the name of the phase is shown.
const wideEnough = 100

// newMeter starts a bar on stderr if that is a terminal.
func (e *env) newMeter(name string, planned int) *meter {
	_, width := terminal(e.say.err)
	dumb, _ := e.getenv("TERM")
	ci, _ := e.getenv("CI")
	if width == 0 || e.quiet || e.noProgress || dumb == "dumb" || ci != "" {
		return nil
	}
	output := mpb.WithOutput(e.say.err)
	if f, ok := e.say.err.(*os.File); ok && runtime.GOOS != "windows" { // whose consoles have escapes off at first
		output = mpb.WithConsoleWriter(&console{out: f})
	}
	m := &meter{wide: width >= wideEnough}
	m.progress = mpb.New(output, mpb.WithWidth(min(width, 120)), mpb.WithRefreshRate(120*time.Millisecond))
	m.bar = m.progress.AddBar(int64(max(planned, 1)), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(name)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return m.text() })))
	return m
}

func (m *meter) text() string {
	p := m.seen.Load()
	text := "connecting"
	if p != nil {
		text = fmt.Sprintf("%d allowed, %d denied, %d unknown, late %s", p.Allowed, p.Denied, p.Unknown, p.Late.Round(10*time.Microsecond))
		if m.wide {
			text = p.Phase + ": " + text
		}
	}
	m.columns = max(m.columns, utf8.RuneCountInString(text))
	return fmt.Sprintf("%-*s", m.columns, text)
}

// update shows how far the load has come; it is called from one goroutine.
func (m *meter) update(p load.Progress) {
	if m == nil {
		return
	}
	m.seen.Store(&p)
	m.bar.SetCurrent(min(int64(p.Sent), int64(max(p.Planned, 1))-1)) // the last step is stop's
}

// stop removes the bar.
func (m *meter) stop() {
	if m == nil {
		return
	}
	m.bar.Abort(true)
	m.progress.Wait()
}
