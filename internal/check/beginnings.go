package check

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Span is a closed interval of instants since the start of the recording.
type Span struct{ From, To time.Duration }

// Windows are windows of one length. One begins somewhere in Begin, and another one Every after it.
//
//	      |<----- Every ----->|
//	..[///]...............[///]...............[///]....  time
//	  Begin.From .. Begin.To
type Windows struct {
	Every time.Duration
	Begin Span
}

// Anywhere tells whether nothing is known of where the windows begin: every instant is possible.
func (w Windows) Anywhere() bool { return w.Begin.To-w.Begin.From >= w.Every-1 }

// WindowsOf returns where the windows of p begin, as far as p and the clock of a recording tell. ok=false: p
// has no such windows, requests open them, or their length is a range or that of calendar days.
func WindowsOf(p spec.Policy, h timeline.Header) (w Windows, ok bool) {
	if !p.Windowed() || p.Align == spec.AlignFirst || p.PerTo > 0 || p.Align == spec.AlignCalendar {
		return Windows{}, false
	}
	box, _ := PhasesOf(p, h)
	begin := Span{time.Duration(box.From), time.Duration(box.To)}
	return Windows{Every: p.LongestWindow(), Begin: begin}, true
}

// Openings returns when each window of p began under a right limiter, ascending at both ends. It is for
// windows that a partition's first request opens, if p alone counts that request. obs are the observations of
// the partition, ascending by Sent. end is the end of the recording. The list ends where no later window is
// certain to have begun. nil: p has no such windows, or requests are missing.
func Openings(p spec.Policy, h timeline.Header, obs []timeline.Observation, end time.Duration) []Span {
	if !limiter.NeedsPlacement(p) || p.Completes() || p.Refreshes() || p.TTL > 0 || p.Clear > 0 ||
		h.CompleteFrom > 0 || h.CompleteUntil > 0 {
		return nil
	}
	var out []Span
	for _, o := range limiter.NewFirst(p).Openings(history.New(history.Observations(obs),
		history.Widen(h, p.Tick, p.TickSet), int64(end))) {
		if o.To == history.MaxTime {
			break
		}
		out = append(out, Span{time.Duration(o.From), time.Duration(o.To)})
	}
	return out
}
