package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
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
	m.bar = m.progress.AddBar(0, mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Name(label)),
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

// Bar shows how far a recording is: in one line of a terminal, or now and then in a separate line. A nil Bar
// shows nothing.
type Bar struct {
	meter *Meter
	beat  *Heartbeat
	// ends is when the recording ends by its plan.
	ends time.Time
}

// NewBar begins to show a recording that takes so long by its plan, and those after it. beat may be nil.
func NewBar(e *Env, beat *Heartbeat, label string, lasts, after time.Duration) *Bar {
	return &Bar{NewMeter(e, label, lasts, after), beat, time.Now().Add(lasts)}
}

// Update shows how far the load is. what names it in a separate line.
func (b *Bar) Update(what string, p load.Progress) {
	if b != nil {
		b.meter.Update(p)
		b.beat.recording(time.Now(), what, p, time.Until(b.ends))
	}
}

// Stop ends the line.
func (b *Bar) Stop() {
	if b != nil {
		b.meter.Stop()
	}
}

// Crowd shows the progress of scenarios that are recorded beside each other.
type Crowd struct {
	bar *Bar
	// planned is how many requests all scenarios may send. all is the number of scenarios.
	planned, all int
	// stop ends all recordings. It is called if nothing can be judged.
	stop func()

	mu       sync.Mutex
	recorded int
	seen     map[string]load.Progress
}

// NewCrowd returns the Crowd of so many scenarios, which may together send so many requests. bar may be nil.
// stop is called once nothing can be judged.
func NewCrowd(bar *Bar, planned, all int, stop func()) *Crowd {
	return &Crowd{bar: bar, planned: planned, all: all, stop: stop, seen: map[string]load.Progress{}}
}

// LeastAnswers is how many answers must be neither admissions nor denials before a run ends. A target that
// restarts soon answers again.
const LeastAnswers = 100

// Mute tells whether nothing can be judged: so many scenarios had neither an admission nor a denial, and so
// many had one. Some ask for other routes or statuses than all the others.
func Mute(none, some int) bool { return none >= 2 && none >= 4*some }

// Update takes the progress of one scenario.
func (c *Crowd) Update(id string, p load.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[id] = p
	sum := load.Progress{Planned: c.planned, Phase: fmt.Sprintf("%d of %d recorded", c.recorded, c.all)}
	none, some := 0, 0
	for _, one := range c.seen {
		switch {
		case one.Allowed+one.Denied > 0:
			some++
		case one.Unknown > 0:
			none++
		}
		sum.Allowed += one.Allowed
		sum.Denied += one.Denied
		sum.Unknown += one.Unknown
		sum.Sent += one.Sent
		sum.Late = max(sum.Late, one.Late)
	}
	if sum.Unknown >= LeastAnswers && Mute(none, some) {
		c.stop()
	}
	c.bar.Update(fmt.Sprintf("%d of %s recorded at the same time are done", c.recorded,
		text.Plural(c.all, "scenario")), sum)
}

// Over counts a scenario whose recording has ended.
func (c *Crowd) Over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recorded++
}

// SearchBar shows the progress of many small recordings that share a budget: in one line of a terminal, or
// now and then in a separate line.
type SearchBar struct {
	Bar
	most   int
	within time.Duration
	began  time.Time
}

// NewSearchBar returns a Search with a budget of so many requests and so much time. With --verbose it draws
// nothing, as results are printed meanwhile.
func NewSearchBar(e *Env, label string, most int, within time.Duration) *SearchBar {
	s := &SearchBar{most: most, within: within, began: time.Now()}
	if !e.Verbose {
		s.meter = NewMeter(e, label, 0, 0)
		s.beat = NewHeartbeat(e, s.began)
	}
	if s.meter != nil {
		s.meter.budget = s.spent
	}
	return s
}

// Update takes the progress of all recordings together.
func (s *SearchBar) Update(p load.Progress) {
	p.Planned = s.most
	s.meter.Update(p)
	s.beat.busy(time.Now(), fmt.Sprintf("%d of at most %s sent, %s", p.Sent,
		text.Plural(s.most, "request"), s.spent()))
}

// spent says how much of the time is used.
func (s *SearchBar) spent() string {
	return fmt.Sprintf("%s of at most %s", seconds(time.Since(s.began)), text.Short(s.within))
}

// Heartbeat says now and then how far a run of several scenarios is, if no line of progress is drawn. A job
// of many minutes that prints nothing seems to hang. A nil Heartbeat says nothing.
type Heartbeat struct {
	say  *Speaker
	said time.Time
}

// betweenBeats is the least time between two lines.
const betweenBeats = 30 * time.Second

// NewHeartbeat returns nil if a meter is drawn.
func NewHeartbeat(e *Env, now time.Time) *Heartbeat {
	if wantsMeter(e) {
		return nil
	}
	return &Heartbeat{e.Say, now}
}

// Tell says how many of all scenarios are done, and with which verdicts, if the last line is old enough. The
// report says so of the last scenario.
func (h *Heartbeat) Tell(now time.Time, done []result.Scenario, all int) {
	if h == nil || now.Sub(h.said) < betweenBeats || len(done) >= all {
		return
	}
	h.said = now
	var parts []string
	counts := map[string]int{}
	for i := range done {
		counts[became(&done[i])]++
	}
	for _, what := range []string{"PASS", "FAIL", "INCONCLUSIVE", notJudged} {
		if n := counts[what]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	h.say.Notef("%d of %s are done: %s", len(done), text.Plural(all, "scenario"), strings.Join(parts, ", "))
}

// recording says how far the recording of what is, and how long the rest takes by its plan; 0: not known.
func (h *Heartbeat) recording(now time.Time, what string, p load.Progress, left time.Duration) {
	rest := ""
	if left > 0 {
		rest = fmt.Sprintf(", %s left by plan", seconds(left))
	}
	h.busy(now, fmt.Sprintf("%s: %s of at most %s sent%s", what, text.Thousands(p.Sent),
		text.Plural(p.Planned, "request"), rest))
}

// busy says what is going on, if the last line is old enough.
func (h *Heartbeat) busy(now time.Time, what string) {
	if h == nil || now.Sub(h.said) < betweenBeats {
		return
	}
	h.said = now
	h.say.Notef("%s", what)
}

// notJudged is the report's word for a scenario that does not count.
const notJudged = "not judged"

func became(s *result.Scenario) string {
	if s.Uncounted() {
		return notJudged
	}
	return strings.ToUpper(s.Verdict.String())
}
