package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

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
