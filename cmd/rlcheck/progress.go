package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/rlcheck/rlcheck/internal/load"
)

// meter is the progress bar of one scenario; nil where none is wanted.
type meter struct {
	progress *mpb.Progress
	bar      *mpb.Bar
	seen     atomic.Pointer[load.Progress]
}

// newMeter starts a bar on stderr if that is a terminal.
func (e *env) newMeter(name string, planned int) *meter {
	_, width := terminal(e.say.err)
	dumb, _ := e.getenv("TERM")
	ci, _ := e.getenv("CI")
	if width == 0 || e.quiet || e.noProgress || dumb == "dumb" || ci != "" {
		return nil
	}
	m := &meter{progress: mpb.New(mpb.WithOutput(e.say.err), mpb.WithWidth(min(width, 100)), mpb.WithRefreshRate(120*time.Millisecond))}
	m.bar = m.progress.AddBar(int64(max(planned, 1)), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(name+" ", decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return m.text() })))
	return m
}

func (m *meter) text() string {
	p := m.seen.Load()
	if p == nil {
		return " connecting"
	}
	return fmt.Sprintf(" %s: %d allowed, %d denied, %d unknown, late %s", p.Phase, p.Allowed, p.Denied, p.Unknown, p.Late.Round(10*time.Microsecond))
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
