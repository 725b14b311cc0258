package check

// shown is the index of what the clock of a laggingModel showed last.
const shown = firstVariable

// laggingModel is one limiter among several, with a clock of its own that may stand still for as long as lag: the model inside
// takes what the clock shows for the present, an instant of [now-lag, now] that is never before an earlier one.
type laggingModel struct {
	model
	lag int64
}

func (l laggingModel) scaled(k int64) model { return laggingModel{l.model.scaled(k), l.lag * k} }

// start: the clock shows the earliest instant that it can.
func (l laggingModel) start(begin int64) memoryState {
	m := l.model.start(begin - l.lag)
	m.zone = m.zone.withFirst()
	m.zone.set(now, 0, begin)
	return m
}

func (l laggingModel) admit(m memoryState, a ask) []memoryState {
	return l.read(m, func(m memoryState) []memoryState { return l.model.admit(m, a) })
}

func (l laggingModel) deny(m memoryState, a ask) []memoryState {
	return l.read(m, func(m memoryState) []memoryState { return l.model.deny(m, a) })
}

func (l laggingModel) pass(m memoryState, a ask) []memoryState {
	return l.read(m, func(m memoryState) []memoryState { return passed(l.model, m, a) })
}

// advance makes what the clock shows any instant that it may show now, and tells whether there is one.
func (l laggingModel) advance(m memoryState) bool {
	m.zone.later(shown)
	return m.zone.limit(shown, now, 0) && m.zone.limit(now, shown, l.lag)
}

// read lets the model inside decide, window by window of what the clock may show.
func (l laggingModel) read(m memoryState, decide func(memoryState) []memoryState) []memoryState {
	if !l.advance(m) {
		return nil
	}
	var out []memoryState
	from, to := -m.zone.bound(0, shown), m.zone.bound(shown, 0)
	t := l.model.traits()
	gap := int64(0)
	if t.windowed {
		gap = t.scale
	}
	for _, begin := range append(l.model.boundaries(from+1, to), to+gap) {
		one := m.clone()
		if one.zone.limit(0, shown, -from) && one.zone.limit(shown, 0, begin-gap) {
			for _, after := range decide(l.seen(one)) {
				out = append(out, l.unseen(after))
			}
		}
		if from = begin; len(out) > outcomeCap {
			break
		}
	}
	return out
}

// seen returns the state as the model inside sees it, unseen the way back.
func (l laggingModel) seen(m memoryState) memoryState {
	m.zone.clock = m.zone.index(shown) - now
	return m.inside(1)
}

func (l laggingModel) unseen(m memoryState) memoryState {
	m.zone.clock = 0
	return m.outside(1)
}

func (l laggingModel) complete(m memoryState, a ask) []memoryState {
	t, ok := l.model.(teller)
	if !ok {
		return []memoryState{m}
	}
	return l.read(m, func(m memoryState) []memoryState { return t.complete(m, a) })
}

func (l laggingModel) short(m memoryState, cost int64) bool { return false }

func (l laggingModel) eager() bool {
	t, ok := l.model.(teller)
	return ok && t.eager()
}

// forget: the clock will show lo less its lag, or later.
func (l laggingModel) forget(m memoryState, lo int64) {
	l.advance(m)
	if f, ok := l.model.(forgetful); ok && m.zone.limit(0, shown, l.lag-lo) {
		f.forget(l.seen(m), lo-l.lag)
	}
}
