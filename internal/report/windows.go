package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
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

// band draws one beginning from x1 to x2.
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

// mostBy returns the most units that p admits in the closed span [from, t] if it was full at from. It never
// decreases with t. Windows whose beginning is known to less than half a window bound it more tightly.
func mostBy(p spec.Policy, h timeline.Header, from, t time.Duration) float64 {
	w, ok := check.WindowsOf(p, h)
	if lo, hi := w.Begin.From, w.Begin.To; ok && hi-lo < w.Every/2 {
		return float64(p.Rate.N) * float64(floorDiv(t-lo, p.Rate.Per)-floorDiv(from-hi, p.Rate.Per)+1)
	}
	return p.MostWithin(t - from)
}

// limitBy is mostBy for a limit, all of whose policies must admit.
func limitBy(l spec.Limit, h timeline.Header, from, t time.Duration) float64 {
	most := math.Inf(1)
	for _, p := range l {
		most = min(most, mostBy(p, h, from, t))
	}
	return most
}

func floorDiv(a, b time.Duration) int64 {
	q := int64(a / b)
	if a%b < 0 {
		q--
	}
	return q
}

// point is a corner of a line over time.
type point struct {
	t time.Duration
	v float64
}

// admission is an admitted request that was decided by the time e.
type admission struct {
	e    time.Duration
	cost int64
}

// admissions returns the admitted requests of one partition, ascending by e.
func admissions(obs []timeline.Observation) []admission {
	out := make([]admission, 0, len(obs)) // there may be millions
	for i := range obs {
		if o := &obs[i]; o.Outcome == timeline.Allowed && o.Answered {
			out = append(out, admission{o.FirstByte, max(o.Cost, 1)})
		}
	}
	slices.SortFunc(out, func(a, b admission) int { return cmp.Compare(a.e, b.e) })
	return out
}

// usage is how much of one policy was in use, and the most that a right limiter ever has in use.
type usage struct {
	policy spec.Policy
	points []point
	most   float64
	// left says why nothing is drawn. Empty: it is drawn.
	left string
}

// share returns the largest usage as a share of the most. Over 1: too many were admitted. -1: nothing is
// drawn.
func (u usage) share() float64 {
	if u.left != "" {
		return -1
	}
	return peak(u.points) / u.most
}

// mostSteps bounds the admissions times the quota of a sliding log, which remembers each admission.
const mostSteps = 2e9

// notDrawn says why the usage of p is not drawn; "" if it is.
func notDrawn(p spec.Policy, admissions int, w windows) string {
	switch {
	case p.HasWindow() && !p.Windowed() && float64(admissions)*float64(p.Full()) > mostSteps:
		return "too many requests for a log of this size"
	case p.Windowed() && p.PerTo > 0:
		return "the length of the windows is a range"
	case p.Windowed() && p.Align != spec.AlignFirst && !w.known():
		return "where windows begin is not known"
	}
	return ""
}

// inUse steps the reference limiter of p over admissions that ascend by e, each at e. It returns the units in
// use just before and after each, and between and behind them in each column of a chart over c, if it has an
// end.
//
// A right limiter may decide earlier than an answer comes, so answers that come late together can look like
// too many. What the reference limiter denies is above the most only if the judge proved that too many were
// admitted. Under windows it counts for one window, and under others until nothing is in use.
func inUse(p spec.Policy, all []admission, w windows, proved bool, c clock) usage {
	u := usage{policy: p, most: float64(p.Full()), left: notDrawn(p, len(all), w)}
	if u.left != "" {
		return u
	}
	if p.Windowed() && p.Align != spec.AlignFirst {
		at := w.Begin.From - w.Every*time.Duration(floorDiv(w.Begin.From, w.Every))
		p.Align, p.PhaseFrom, p.PhaseTo = spec.AlignPhase, at, at
	}
	limiter, err := reference.New(p)
	if err != nil {
		u.left = err.Error()
		return u
	}
	state, over, excess := limiter.Init(), []admission(nil), 0.0
	used := func(t time.Duration) float64 {
		level := u.most
		if _, d := limiter.Step(state, t, 1); d.Allow {
			level -= float64(d.Remaining) + 1
		}
		for len(over) > 0 && (level <= 0 || p.HasWindow() && over[0].e+p.Rate.Per <= t) {
			excess, over = excess-float64(over[0].cost), over[1:]
		}
		return max(level, 0) + excess
	}
	u.points = make([]point, 0, 2*len(all))
	sample := func(until time.Duration) {
		if len(u.points) == 0 || c.end == 0 {
			return
		}
		last, column := u.points[len(u.points)-1], max(c.end/fullWidth, 1)
		for last.t += column; last.t < until && last.v > 0; last.t += column {
			last.v = used(last.t)
			u.points = append(u.points, last)
		}
	}
	for i, a := range all {
		before := 0.0
		if sample(a.e); i > 0 {
			before = used(a.e)
		}
		u.points = append(u.points, point{a.e, before})
		next, d := limiter.Step(state, a.e, a.cost)
		switch {
		case d.Allow:
			state = next
		case proved:
			over, excess = append(over, a), excess+float64(a.cost)
		}
		u.points = append(u.points, point{a.e, used(a.e)})
	}
	sample(c.end)
	return u
}
