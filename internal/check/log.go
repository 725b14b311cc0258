package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// windowLog is the bound of the sliding window log: at most `quota` units in any (t-window, t].
//
//	over:   J[x,y] <= quota * (floor((y-x)/window) + 1)
//	under:  units with s <= t and e > t-window reach the quota, for some t in the denial's interval
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

// spans is the largest number of windows over which admissions are added up. One window is nearly always the
// tightest.
const spans = 4

func (l windowLog) over(h *history) *breach {
	if br := tooDear(h, l.quota); br != nil {
		return br
	}
	if l.all {
		return l.overCounting(h, h.surely())
	}
	for k := int64(1); k <= spans; k++ {
		if br := l.overSpan(h, k); br != nil {
			return br
		}
	}
	return nil
}

// overSpan looks for more than k*quota units certainly inside a span shorter than k windows. For a span that
// ends at y the best start is y - k*window + 1.
func (l windowLog) overSpan(h *history, k int64) *breach {
	var units int64
	var leaving int // events of h.admitted whose start the span has passed
	done := make([]bool, len(h.admitted))
	for _, i := range h.admittedByEnd {
		ev := h.admitted[i]
		x := ev.e - k*l.window + 1
		done[i] = true
		if ev.s >= x {
			units += ev.cost
		}
		for ; leaving < len(h.admitted) && h.admitted[leaving].s < x; leaving++ {
			if done[leaving] && int(i) != leaving {
				units -= h.admitted[leaving].cost
			}
		}
		if units > k*l.quota {
			return l.breachAt(h, ev.e, k)
		}
	}
	return nil
}

// breachAt collects the latest admissions that end at or before y until they are too many.
func (l windowLog) breachAt(h *history, y, k int64) *breach {
	br := &breach{kind: verdict.OverAdmission, windows: k}
	for i := len(h.admitted) - 1; i >= 0; i-- {
		ev := h.admitted[i]
		if ev.e > y {
			continue
		}
		br.events = append(br.events, ev)
		br.seen += ev.cost
		if br.seen > k*l.quota {
			br.span = y - ev.s
			br.bound = l.quota * (br.span/l.window + 1)
			return br
		}
	}
	panic("check: a violated span vanished")
}

// overCounting asks of each admission whether some instant of its interval has fewer than the quota of what
// is counted certainly within the window before it.
func (l windowLog) overCounting(h *history, counted []event) *breach {
	c := newCertain(counted)
	for _, i := range h.admittedByEnd {
		ev := h.admitted[i]
		if l.room(c, ev) {
			continue
		}
		br := &breach{kind: verdict.OverAdmission, seen: ev.cost, bound: l.quota, windows: 1, roomless: true,
			events: []event{ev}, span: ev.e - ev.s}
		for _, other := range counted {
			if other.seq != ev.seq && other.s > ev.s-l.window && other.e < ev.e {
				br.events = append(br.events, other)
				br.seen += other.cost
			}
		}
		return br
	}
	return nil
}

// room tells whether ev may be admitted at some instant: the certain load is smallest at its start and just
// after an earlier request leaves the window, where another may not have ended yet.
func (l windowLog) room(c *certain, ev event) bool {
	if c.within(ev.s-l.window, ev.s, ev)+ev.cost <= l.quota {
		return true
	}
	for _, s := range c.startsIn(ev.s-l.window, ev.e-l.window) {
		if c.within(s, s+l.window, ev)+ev.cost <= l.quota {
			return true
		}
	}
	return false
}

// logMeter counts the units that may be in the window that ends at t.
type logMeter struct {
	windowLog
	starts []event
	ends   []ending
	i, k   int
	units  int64
}

func (l windowLog) usage(h *history) meter {
	return &logMeter{windowLog: l, starts: h.counted(l.all), ends: h.countedEnds(l.all)}
}

func (m *logMeter) unit() int64 { return 1 }

func (m *logMeter) excess(t int64) int64 {
	for ; m.i < len(m.starts) && m.starts[m.i].s <= t; m.i++ {
		m.units += m.starts[m.i].cost
	}
	for ; m.k < len(m.ends) && m.ends[m.k].e <= t-m.window; m.k++ {
		m.units -= m.ends[m.k].cost
	}
	return m.units - m.quota + 1
}

func (l windowLog) scope() scope { return scope{memory: l.window, full: l.quota, all: l.all} }

// logModel remembers the times of the last quota units, oldest first; a unit is what all costs are a multiple
// of.
type logModel struct {
	base
	windowLog
	scale, unit int64
	keep        int
}

// longestLog is the most units of a log that the exact search remembers one by one.
const longestLog = 128

func newLogModel(p spec.Policy, costs []int64) model {
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

func (l logModel) traits() traits { return traits{scale: l.scale, counted: l.all} }

func (l logModel) scaled(k int64) model {
	l.scale *= k
	l.window *= k
	return l
}

func (l logModel) start(begin int64) memoryState {
	values := []int64{begin}
	for range l.keep {
		values = append(values, begin-l.window)
	}
	return memoryState{zone: newZone(values...)}
}

// newest returns the index of the newest time that must have left the window before a request of the cost is
// admitted.
func (l logModel) newest(cost int64) (index int, ok bool) {
	units := cost / l.unit
	return firstVariable + int(min(units, int64(l.keep))) - 1, units <= int64(l.keep)
}

func (l logModel) admit(m memoryState, a ask) []memoryState {
	if !l.fits(m, a.cost) {
		return nil
	}
	l.remember(m.zone, a.cost)
	return []memoryState{m}
}

// fits limits m to where there is room.
func (l logModel) fits(m memoryState, cost int64) bool {
	i, ok := l.newest(cost)
	return ok && m.zone.limit(i, now, -l.window)
}

func (l logModel) pass(m memoryState, a ask) []memoryState {
	if l.all {
		return l.admit(m, a)
	}
	return onlyIf(l.fits(m, a.cost), m)
}

// remember drops the oldest times and appends the present, once for each unit.
func (l logModel) remember(z zone, cost int64) {
	units := int(min(cost/l.unit, int64(l.keep)))
	last := firstVariable + l.keep
	for i := firstVariable; i < last; i++ {
		if i+units < last {
			z.set(i, i+units, 0)
		} else {
			z.set(i, now, 0)
		}
	}
}

func (l logModel) deny(m memoryState, a ask) []memoryState {
	if i, ok := l.newest(a.cost); ok && !m.zone.limit(now, i, l.window-l.scale) {
		return nil
	}
	if l.all {
		l.remember(m.zone, a.cost)
	}
	return []memoryState{m}
}

// forget: what has left the window at lo is as good as any other.
func (l logModel) forget(m memoryState, lo int64) {
	for i := firstVariable; i < firstVariable+l.keep; i++ {
		if m.zone.bound(i, 0) <= lo-l.window {
			m.zone.free(i, lo-l.window)
		}
	}
}
