package check

// shown is the time of a laggingModel: what its clock showed last.
const shown = ownTime

// laggingModel is one limiter among several, with a clock of its own that may stand still for as long as lag:
// the model inside takes what the clock shows for the present, an instant of [now-lag, now] that is never
// before an earlier one.
type laggingModel struct {
	around
	lag int64
}

func (l laggingModel) scaled(k int64) model {
	return laggingModel{around{l.model.scaled(k)}, l.lag * k}
}

// start: the clock shows the earliest instant that it can.
func (l laggingModel) start(begin int64) memoryState {
	m := l.around.start(begin - l.lag)
	m.zone.set(now, 0, begin)
	return m
}

func (l laggingModel) admit(m memoryState, a ask) []memoryState { return l.read(m, a, model.admit) }
func (l laggingModel) deny(m memoryState, a ask) []memoryState  { return l.read(m, a, model.deny) }
func (l laggingModel) pass(m memoryState, a ask) []memoryState  { return l.read(m, a, model.pass) }

// advance makes what the clock shows any instant that it may show now, and tells whether there is one.
func (l laggingModel) advance(m memoryState) bool {
	m.zone.later(shown)
	return m.zone.limit(shown, now, 0) && m.zone.limit(now, shown, l.lag)
}

// read asks the model inside, window by window of what the clock may show.
func (l laggingModel) read(m memoryState, a ask, q question) []memoryState {
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
			out = append(out, l.byClock(one, a, q)...)
		}
		if from = begin; len(out) > outcomeCap {
			break
		}
	}
	return out
}

// byClock asks the model inside, which takes what the clock shows for the present.
func (l laggingModel) byClock(m memoryState, a ask, q question) []memoryState {
	m.zone.clock = m.zone.index(shown) - now
	out := l.ask(m, a, q)
	for i := range out {
		out[i].zone.clock = 0
	}
	return out
}

func (l laggingModel) complete(m memoryState, a ask) []memoryState {
	if !l.traits().eager {
		return []memoryState{m}
	}
	return l.read(m, a, model.complete)
}

// forget: the clock will show lo less its lag, or later.
func (l laggingModel) forget(m memoryState, lo int64) {
	l.advance(m)
	if m.zone.limit(0, shown, l.lag-lo) {
		m.zone.clock = m.zone.index(shown) - now
		l.around.forget(m, lo-l.lag)
	}
}
