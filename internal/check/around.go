package check

// around is what the models around another one have in common: one time of their own, in front of those of
// the model inside.
type around struct{ model }

// ownTime is the index of that time.
const ownTime = firstVariable

// question is what a model is asked: model.admit, model.deny or model.pass.
type question func(to model, m memoryState, a ask) []memoryState

// start: the time is the present.
func (w around) start(begin int64) memoryState {
	m := w.model.start(begin)
	m.zone = m.zone.withFirst()
	return m
}

// ask asks the model inside, which takes m as if the time were not there.
func (w around) ask(m memoryState, a ask, q question) []memoryState {
	m.zone.skip++
	out := q(w.model, m, a)
	for i := range out {
		out[i].zone.skip--
	}
	return out
}

func (w around) complete(m memoryState, a ask) []memoryState { return w.ask(m, a, model.complete) }

func (w around) short(memoryState, int64) bool { return false }

func (w around) forget(m memoryState, lo int64) {
	m.zone.skip++
	w.model.forget(m, lo)
}

// remembers are the traits of the model inside where a denied request changes the time.
func (w around) remembers() traits {
	t := w.model.traits()
	t.counted = true
	return t
}
