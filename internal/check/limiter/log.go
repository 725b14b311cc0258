package limiter

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

var logKind = kind{
	counting: func(p spec.Policy, _ history.Interval) counting { return newWindowLog(p) },
	model: func(p spec.Policy, _ history.Interval, costs []int64) Model {
		return newLogModel(p, costs)
	},
}

// windowLog is the bound of the sliding window log: at most quota units in any (t-window, t]. Times are
// nanoseconds.
//
//	over:   J[x,y] <= quota * (floor((y-x)/window) + 1)
//	under:  units with s <= t and e > t-window reach the quota, for some t in the denial's interval
//
//	window          (t-window ------------------ t]
//	in it, perhaps     [--a--]  [--b--]      [---c---]      a, b and c count against a denial at t
//	not in it     [-d-]
type windowLog struct {
	quota, window int64
	all           bool
}

func newWindowLog(p spec.Policy) windowLog {
	l := windowLog{quota: p.Rate.N, window: int64(p.Rate.Per), all: p.Count == spec.CountAll}
	if p.Boundary == spec.Closed {
		l.window++ // [t-W, t] is (t-(W+1ns), t] on a clock of whole nanoseconds
	}
	return l
}

// Spans is the most windows over which admissions are added up. One window is nearly always the tightest.
const Spans = 4

func (l windowLog) Over(h *history.History) *Breach {
	if br := tooDear(h.Admitted, l.quota); br != nil {
		return br
	}
	if l.all {
		if br := l.overCounting(h, h.Certain()); br != nil {
			return br
		}
	}
	for k := int64(1); k <= Spans; k++ {
		if br := l.overSpan(h, k); br != nil {
			return br
		}
	}
	return nil
}

// overSpan looks for more than k*quota units that are certainly inside a span shorter than k windows. Of the
// spans that end at y, the one from y - k*window + 1 has the most.
func (l windowLog) overSpan(h *history.History, k int64) *Breach {
	place := func(s int64) int64 { return s }
	since := func(y int64) int64 { return y - k*l.window + 1 }
	br := overSpan(h, k*l.quota, place, since)
	if br != nil {
		br.Windows, br.Bound = k, l.quota*(br.Span/l.window+1)
	}
	return br
}

// overCounting asks of each admission whether some instant of its interval leaves room for it. The certainly
// counted units in the window before that instant, and its own, are at most the quota.
func (l windowLog) overCounting(h *history.History, counted *history.Certain) *Breach {
	for _, i := range h.AdmittedByEnd {
		ev := h.Admitted[i]
		least := l.room(counted, ev)
		if least+ev.Cost <= l.quota {
			continue
		}
		br := &Breach{Kind: result.OverAdmission, Seen: least + ev.Cost, Bound: l.quota, Windows: 1,
			Roomless: true, Events: []history.Event{ev}, Span: ev.End - ev.Start}
		for _, other := range counted.Events() {
			if other.Seq != ev.Seq && other.Start > ev.Start-l.window && other.End < ev.End {
				br.Events = append(br.Events, other)
			}
		}
		return br
	}
	return nil
}

// room returns the least certain load at an instant at which ev may be admitted, or one that leaves room for
// it. The certain load is smallest at the start of ev, and
// just after an earlier request leaves the window. Between these, requests only end, and the load only grows.
func (l windowLog) room(counted *history.Certain, ev history.Event) (least int64) {
	least = counted.Within(ev.Start-l.window, ev.Start, ev)
	if least+ev.Cost <= l.quota {
		return least
	}
	for _, s := range counted.StartsIn(ev.Start-l.window, ev.End-l.window) {
		if least = min(least, counted.Within(s, s+l.window, ev)); least+ev.Cost <= l.quota {
			return least
		}
	}
	return least
}

// logMeter counts the units that may be in the window that ends at t.
type logMeter struct {
	windowLog
	inUse
}

func (l windowLog) Usage(h *history.History) Meter {
	return &logMeter{l, inUse{starts: h.Counted(l.all), ends: h.CountedEnds(l.all)}}
}

func (m *logMeter) Excess(t int64) int64 {
	m.begin(t)
	m.end(t - m.window + 1)
	return m.used - m.quota + 1
}

func (l windowLog) Scope() Scope {
	return Scope{Memory: l.window, Full: l.quota, All: l.all, Crowd: l.all}
}

// logModel remembers the times of the last quota units, oldest first. The unit is the greatest common divisor
// of the costs.
type logModel struct {
	base
	windowLog
	scale, unit int64
	keep        int
}

// longestLog is the most units that the exact search remembers one by one.
const longestLog = 128

// newLogModel returns the model of a sliding window log for requests of the given costs, ascending. It
// returns nil where the model would have to remember too many units.
func newLogModel(p spec.Policy, costs []int64) Model {
	l := newWindowLog(p)
	unit := costs[0]
	for _, c := range costs {
		for unit, c = c, unit%c; c > 0; unit, c = c, unit%c {
		}
	}
	keep := l.quota / unit
	if keep > longestLog {
		return nil
	}
	return logModel{windowLog: l, scale: 1, unit: unit, keep: int(keep)}
}

func (l logModel) Traits() Traits { return Traits{Scale: l.scale, Counted: l.all} }

func (l logModel) Scaled(k int64) Model {
	l.scale *= k
	l.window *= k
	return l
}

func (l logModel) Start(begin int64) State {
	values := []int64{begin}
	for range l.keep {
		values = append(values, begin-l.window)
	}
	return State{Zone: NewZone(values...)}
}

// newest returns the index of the newest time that must have left the window for a request of this cost.
// ok=false: the cost exceeds the quota.
func (l logModel) newest(cost int64) (index int, ok bool) {
	units := cost / l.unit
	return FirstVariable + int(min(units, int64(l.keep))) - 1, units <= int64(l.keep)
}

func (l logModel) Admit(m State, a Request) []State {
	if !l.fits(m, a.Cost) {
		return nil
	}
	l.remember(m.Zone, a.Cost)
	return []State{m}
}

// fits limits m to the instants at which there is room; false: there are none.
func (l logModel) fits(m State, cost int64) bool {
	i, ok := l.newest(cost)
	return ok && m.Zone.Limit(i, ZoneNow, -l.window)
}

func (l logModel) Pass(m State, a Request) []State {
	if l.all {
		return l.Admit(m, a)
	}
	return onlyIf(l.fits(m, a.Cost), m)
}

// remember drops the oldest times and appends the present, once for each unit.
func (l logModel) remember(z Zone, cost int64) {
	units := int(min(cost/l.unit, int64(l.keep)))
	last := FirstVariable + l.keep
	for i := FirstVariable; i < last; i++ {
		if i+units < last {
			z.Set(i, i+units, 0)
		} else {
			z.Set(i, ZoneNow, 0)
		}
	}
}

func (l logModel) Deny(m State, a Request) []State {
	if i, ok := l.newest(a.Cost); ok && !m.Zone.Limit(ZoneNow, i, l.window-l.scale) {
		return nil
	}
	if l.all {
		l.remember(m.Zone, a.Cost)
	}
	return []State{m}
}

// Forget: a time that has left the window at lo no longer matters.
func (l logModel) Forget(m State, lo int64) {
	for i := FirstVariable; i < FirstVariable+l.keep; i++ {
		if m.Zone.Bound(i, 0) <= lo-l.window {
			m.Zone.Free(i, lo-l.window)
		}
	}
}
