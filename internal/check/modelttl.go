package check

// ttlModel forgets the memory of the model inside after a silence: a request that comes ttl or more after the last one,
// admitted or denied, finds it as it starts.
type ttlModel struct {
	model
	// ttl is the least and ttlTo the most that a silence lasts after which it forgets.
	ttl, ttlTo int64
}

func (t ttlModel) traits() traits {
	inner := t.model.traits()
	inner.counted = true
	return inner
}

func (t ttlModel) scaled(k int64) model { return ttlModel{t.model.scaled(k), t.ttl * k, t.ttlTo * k} }

func (t ttlModel) start(begin int64) memoryState {
	m := t.model.start(begin)
	m.zone = m.zone.withFirst()
	return m
}

func (t ttlModel) admit(m memoryState, a ask) []memoryState { return t.ask(m, a, t.model.admit) }
func (t ttlModel) deny(m memoryState, a ask) []memoryState  { return t.ask(m, a, t.model.deny) }

func (t ttlModel) pass(m memoryState, a ask) []memoryState {
	return t.ask(m, a, func(m memoryState, a ask) []memoryState { return passed(t.model, m, a) })
}

func (t ttlModel) ask(m memoryState, a ask, decide func(memoryState, ask) []memoryState) []memoryState {
	var out []memoryState
	if known := m.clone(); known.zone.limit(now, lastAsked, t.ttlTo-t.model.traits().scale) {
		out = append(out, decide(known.inside(1), a)...)
	}
	if m.zone.limit(lastAsked, now, -t.ttl) {
		m = m.inside(1)
		t.renew(m)
		out = append(out, decide(m, a)...)
	}
	for i := range out {
		out[i] = out[i].outside(1)
		out[i].zone.set(lastAsked, now, 0)
	}
	return out
}

// renew makes the memory of the model inside what it is when it starts now: every time in it is some time from the present.
// (What a fixedModel has counted is no time, but is none once its window turns, as it does where the index of its window is
// what it was at the start.)
func (t ttlModel) renew(m memoryState) {
	fresh := t.model.start(0)
	for k := range fresh.counts {
		*m.count(k) = fresh.counts[k]
	}
	for i := firstVariable; i < fresh.zone.n; i++ {
		m.zone.set(i, now, fresh.zone.bound(i, now))
	}
}

// forget: what is forgotten at lo for sure is as good as the memory of a partition that was never asked for.
func (t ttlModel) forget(m memoryState, lo int64) {
	if m.zone.bound(lastAsked, 0) <= lo-t.ttlTo {
		m.zone.free(lastAsked, lo-t.ttlTo)
		fresh := t.model.start(0)
		for k := range fresh.counts {
			*m.count(k) = fresh.counts[k]
		}
		for i := firstVariable; i < fresh.zone.n; i++ {
			m.zone.set(i+1, lastAsked, 0)
		}
		return
	}
	if f, ok := t.model.(forgetful); ok {
		f.forget(m.inside(1), lo)
	}
}
