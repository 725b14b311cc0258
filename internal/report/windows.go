package report

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// windows is what is known of where the windows of one policy begin in one partition.
type windows struct {
	check.Windows
	// opened are the beginnings of windows that requests open. Windows is then unset, but for Every.
	opened []check.Span
	// how says how the beginnings are known. Empty: nothing is known.
	how string
}

// windowsOf returns what is known of the windows of policy i of the limit of s. Most trusted is what the
// policy and the clock say, then what was measured of the partition. ok=false: the policy has no windows.
func windowsOf(s *result.Scenario, i int, part timeline.Part) (w windows, ok bool) {
	p := s.Limit[i]
	if !p.Windowed() {
		return windows{}, false
	}
	if p.Align == spec.AlignFirst {
		w.Every = p.Rate.Per
		if end := s.Header.Ended; len(s.Limit) == 1 {
			w.opened = check.Openings(p, s.Header, part.Observations, max(end, s.Timeline.End()))
		}
		if len(w.opened) > 0 {
			w.how = "opened by requests"
		}
		return w, true
	}
	if w.Windows, ok = check.WindowsOf(p, s.Header); !ok {
		return windows{Windows: check.Windows{Every: p.Rate.Per}}, true
	}
	turn := w.Every * time.Duration(floorDiv(w.Begin.From, w.Every))
	w.Begin = check.Span{From: w.Begin.From - turn, To: w.Begin.To - turn}
	if !w.Anywhere() {
		w.how = s.LimitWord()
		if p.Align == spec.AlignClock {
			w.how = "by the target's clock"
		}
	}
	m := measuredPhase(s, i, part.Partition)
	if m.LoSet && m.HiSet && time.Duration(m.Hi-m.Lo) < w.Begin.To-w.Begin.From {
		w.Begin, w.how = check.Span{From: time.Duration(m.Lo), To: time.Duration(m.Hi)}, "measured"
	}
	return w, true
}

// measuredPhase returns the interval of beginnings of a partition's windows that are not refuted. Unset:
// nothing was measured.
func measuredPhase(s *result.Scenario, i int, partition string) result.Interval {
	if s.Judgement == nil {
		return result.Interval{}
	}
	for k := range s.Judgement.Partitions {
		if p := &s.Judgement.Partitions[k]; p.Partition == partition && p.Verdict != result.Fail {
			return p.Measured.Of(i, len(s.Limit)).Phase
		}
	}
	return result.Interval{}
}

// known tells whether a request can be placed in a window: their beginnings are known to less than half of a
// window.
func (w windows) known() bool {
	return len(w.opened) > 0 || w.how != "" && w.Begin.To-w.Begin.From < w.Every/2
}

// between returns the beginnings that may lie in [from, to], ascending. It returns all of them, however many
// are drawn.
func (w windows) between(from, to time.Duration) []check.Span {
	var out []check.Span
	if w.opened != nil || w.how == "" || w.Every <= 0 {
		for _, o := range w.opened {
			if o.To >= from && o.From <= to {
				out = append(out, o)
			}
		}
		return out
	}
	first := floorDiv(from-w.Begin.To, w.Every)
	if (to-from)/w.Every > mostBoundaries {
		return nil
	}
	for k := first; ; k++ {
		by := time.Duration(k) * w.Every
		o := check.Span{From: w.Begin.From + by, To: w.Begin.To + by}
		if o.From > to {
			return out
		}
		if o.To >= from {
			out = append(out, o)
		}
	}
}

// mostBoundaries is how many beginnings of windows one chart draws at most. More would hide what is behind
// them.
const mostBoundaries = 120

// boundaries draws where windows begin: a line if that is known to the width of a line, otherwise a hatched
// band over all possible instants. If there are too many, it says so in words.
func (d *drawing) boundaries(f frame, x scale, c clock, w windows) {
	if w.how == "" {
		return
	}
	all := w.between(c.from, c.end)
	if len(all) > mostBoundaries || len(all) == 0 && (c.end-c.from)/max(w.Every, 1) > mostBoundaries {
		d.text("tick", f.x+f.w, f.y+10, "end", "windows of "+span(w.Every)+" are too short to be drawn")
		return
	}
	for _, o := range all {
		d.band(f, x.at(c.of(max(o.From, c.from))), x.at(c.of(min(o.To, c.end))), beginsText(o, w.how))
	}
}

func (d *drawing) band(f frame, x1, x2 float64, title string) {
	if x2-x1 < 2.5 {
		d.rect("boundary", (x1+x2)/2-0.7, f.y, 1.4, f.h, title)
		return
	}
	d.rect("hatch", x1, f.y, x2-x1, f.h, title)
}

// beginsText says where a window begins: a window begins at 2.000 s .. 2.004 s (measured).
func beginsText(o check.Span, how string) string {
	at := fmt.Sprintf("%.6f s", o.From.Seconds())
	if o.To > o.From {
		at += fmt.Sprintf(" .. %.6f s", o.To.Seconds())
	}
	return "a window begins at " + at + " (" + how + ")"
}

// declaredWindows returns the windows of the first policy of s that says, for all partitions, where its
// windows begin.
func declaredWindows(s *result.Scenario) (windows, bool) {
	for i := range s.Limit {
		if len(s.Limits) > 0 || s.Limit[i].Align == spec.AlignFirst {
			continue
		}
		bare := *s
		bare.Judgement = nil
		if w, ok := windowsOf(&bare, i, timeline.Part{}); ok && w.how != "" {
			return w, true
		}
	}
	return windows{}, false
}

// drawnWindows returns the windows of the policy that the charts of a partition draw; none if they draw no
// limit.
func drawnWindows(s *result.Scenario, part timeline.Part) windows {
	l, left := drawnLimit(s, part)
	// Requests that are not at hand may have opened windows.
	if left != "" || s.Excerpt != "" {
		return windows{}
	}
	s = under(s, l)
	for i := range l {
		if w, ok := windowsOf(s, i, part); ok && w.how != "" {
			return w
		}
	}
	return windows{}
}
