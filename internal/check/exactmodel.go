package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
)

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

// onlyIf returns m, or nothing.
func onlyIf(ok bool, m memoryState) []memoryState {
	if !ok {
		return nil
	}
	return []memoryState{m}
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

// opened is the index of the time at which the open window of a firstModel began. Its counts are wasOpened, 1
// while a window was ever open, and inWindow.
const (
	opened    = firstVariable
	wasOpened = 0
	inWindow  = 1
)

// firstModel is a fixed window that a request opens: one that is counted.
type firstModel struct {
	base
	first
	scale int64
}

func (f firstModel) traits() traits { return traits{scale: f.scale, counted: f.all} }

func (f firstModel) scaled(k int64) model {
	f.scale *= k
	f.size *= k
	return f
}

func (f firstModel) pass(m memoryState, a ask) []memoryState { return passed(f, m, a) }

func (f firstModel) start(begin int64) memoryState {
	return memoryState{counts: make([]int64, 2), zone: newZone(begin, begin)}
}

func (f firstModel) admit(m memoryState, a ask) []memoryState {
	if a.cost > f.quota {
		return nil
	}
	var out []memoryState
	if *m.count(wasOpened) == 1 && *m.count(inWindow)+a.cost <= f.quota {
		in := m.clone()
		if in.zone.limit(now, opened, f.size-f.scale) {
			*in.count(inWindow) += a.cost
			out = append(out, in)
		}
	}
	if *m.count(wasOpened) == 0 || m.zone.limit(opened, now, -f.size) {
		m.zone.set(opened, now, 0)
		*m.count(wasOpened), *m.count(inWindow) = 1, a.cost
		out = append(out, m)
	}
	return out
}

func (f firstModel) deny(m memoryState, a ask) []memoryState {
	if a.cost > f.quota {
		return f.denyDear(m)
	}
	if *m.count(wasOpened) == 0 || *m.count(inWindow)+a.cost <= f.quota ||
		!m.zone.limit(now, opened, f.size-f.scale) {
		return nil
	}
	if f.all {
		*m.count(inWindow) = f.quota
	}
	return []memoryState{m}
}

// denyDear denies a request that costs more than the quota, which fills the window where it is counted.
func (f firstModel) denyDear(m memoryState) []memoryState {
	if !f.all {
		return []memoryState{m}
	}
	var out []memoryState
	if in := m.clone(); *m.count(wasOpened) == 1 && in.zone.limit(now, opened, f.size-f.scale) {
		*in.count(inWindow) = f.quota
		out = append(out, in)
	}
	if *m.count(wasOpened) == 0 || m.zone.limit(opened, now, -f.size) {
		m.zone.set(opened, now, 0)
		*m.count(wasOpened), *m.count(inWindow) = 1, f.quota
		out = append(out, m)
	}
	return out
}

// forget: a window that has ended at lo is as good as none.
func (f firstModel) forget(m memoryState, lo int64) {
	if m.zone.bound(opened, 0) <= lo-f.size {
		m.zone.free(opened, lo-f.size)
		*m.count(wasOpened), *m.count(inWindow) = 0, 0
	}
}

// The counts of windows of known phase: the index of the window, and of a counter what was counted in it and
// in the one before.
const (
	windowIndex = iota
	inThis
	inLast
)

// fixedModel is a fixed window of known phase, or with a phase in a box inside which no request changes its
// window. What was counted in the window is a variable of the zone: where it is not known how many requests
// the window before took, one zone holds all of these numbers.
type fixedModel struct {
	base
	fixed
	scale int64
}

// load is the index of what a fixedModel has counted in its window, in units.
const load = firstVariable

func (f fixedModel) traits() traits {
	return traits{scale: f.scale, counted: f.all, windowed: true, counting: !f.all}
}

func (f fixedModel) scaled(k int64) model {
	f.scale *= k
	f.windows = f.windows.scaled(k)
	return f
}

func (f fixedModel) boundaries(from, to int64) []int64 { return f.begins(from, to) }

func (f fixedModel) start(begin int64) memoryState {
	return memoryState{counts: []int64{windowIndex: minTime}, zone: newZone(begin, 0)}
}

func (f fixedModel) turn(m memoryState) {
	if k := f.at(m.zone); k != *m.count(windowIndex) {
		*m.count(windowIndex) = k
		m.zone.set(load, 0, 0)
	}
}

func (f fixedModel) admit(m memoryState, a ask) []memoryState {
	if !f.fits(m, a.cost) {
		return nil
	}
	m.zone.shift(load, a.cost)
	return []memoryState{m}
}

// fits limits m to where there is room.
func (f fixedModel) fits(m memoryState, cost int64) bool {
	f.turn(m)
	return m.zone.limit(load, 0, f.quota-cost)
}

func (f fixedModel) pass(m memoryState, a ask) []memoryState {
	if f.all {
		return f.admit(m, a)
	}
	return onlyIf(f.fits(m, a.cost), m)
}

func (f fixedModel) deny(m memoryState, a ask) []memoryState {
	f.turn(m)
	if !m.zone.limit(0, load, -(f.quota-a.cost)-1) {
		return nil
	}
	if f.all { // more than the quota denies no more than the quota
		m.zone.set(load, 0, f.quota)
	}
	return []memoryState{m}
}

func (f fixedModel) forget(m memoryState, _ int64) { f.turn(m) }

// counterModel is a sliding window counter of known phase, or with a phase in a box.
type counterModel struct {
	base
	counter
	scale int64
}

func (c counterModel) traits() traits {
	return traits{scale: c.scale, counted: c.all, windowed: true}
}

func (c counterModel) scaled(k int64) model {
	c.scale *= k
	c.windows = c.windows.scaled(k)
	return c
}

func (c counterModel) boundaries(from, to int64) []int64 { return c.begins(from, to) }

func (c counterModel) start(begin int64) memoryState {
	return memoryState{counts: []int64{windowIndex: minTime, inThis: 0, inLast: 0}, zone: newZone(begin)}
}

func (c counterModel) turn(m memoryState) {
	k, old := c.at(m.zone), *m.count(windowIndex)
	if k == old {
		return
	}
	*m.count(inLast) = 0
	if k == old+1 {
		*m.count(inLast) = *m.count(inThis)
	}
	*m.count(windowIndex), *m.count(inThis) = k, 0
}

// admits tells whether the weighted load leaves room with `left` to go in the window.
func (c counterModel) admits(m memoryState, cost, left int64) bool {
	return c.weighted(*m.count(inLast), left)+*m.count(inThis)+cost-1 < c.quota
}

// admit: the load falls while time passes, so from some instant on there is room.
func (c counterModel) admit(m memoryState, a ask) []memoryState {
	if !c.fits(m, a.cost) {
		return nil
	}
	*m.count(inThis) += a.cost
	return []memoryState{m}
}

// fits limits m to where there is room.
func (c counterModel) fits(m memoryState, cost int64) bool {
	c.turn(m)
	end := c.earliest(*m.count(windowIndex) + 1)
	lo, hi := m.zone.present()
	if !c.admits(m, cost, end-hi) {
		return false
	}
	if c.admits(m, cost, end-lo) {
		return true
	}
	for lo < hi {
		if mid := lo + (hi-lo)/2; c.admits(m, cost, end-mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return m.zone.limit(0, now, -lo)
}

func (c counterModel) pass(m memoryState, a ask) []memoryState {
	if c.all {
		return c.admit(m, a)
	}
	return onlyIf(c.fits(m, a.cost), m)
}

// deny: only before there is room.
func (c counterModel) deny(m memoryState, a ask) []memoryState {
	c.turn(m)
	end := c.latest(*m.count(windowIndex))
	lo, hi := m.zone.present()
	if c.admits(m, a.cost, end-lo) {
		return nil
	}
	if !c.admits(m, a.cost, end-hi) {
		lo = hi
	}
	for lo < hi {
		if mid := lo + (hi-lo+1)/2; !c.admits(m, a.cost, end-mid) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	if !m.zone.limit(now, 0, lo) {
		return nil
	}
	if c.all {
		*m.count(inThis) += a.cost
	}
	return []memoryState{m}
}

func (c counterModel) forget(m memoryState, _ int64) { c.turn(m) }

// at returns the window in which the present of z lies: the same for the whole of it, and for every phase of
// the box.
func (w windows) at(z zone) int64 { return w.first(-z.bound(0, now)) }

func (w windows) scaled(k int64) windows {
	return windows{w.from * k, w.to * k, w.size * k, w.sizeTo * k}
}

// begins returns the instants of [from, to] at which a window begins, at its earliest: the first 2^16 of
// them.
func (w windows) begins(from, to int64) []int64 {
	var out []int64
	for k := w.last(from); ; k++ {
		begin := w.earliest(k)
		if begin > to || len(out) == windowCap {
			return out
		}
		if begin >= from {
			out = append(out, begin)
		}
	}
}
