package check

// lastAsked is the time of a ttlModel.
const lastAsked = ownTime

// ttlModel forgets the memory of the model inside after a silence: a request that comes ttl or more after the last one,
// admitted or denied, finds it as it starts.
type ttlModel struct {
	around
	// ttl is the least and ttlTo the most that a silence lasts after which it forgets.
	ttl, ttlTo int64
}

func (t ttlModel) traits() traits { return t.remembers() }

func (t ttlModel) scaled(k int64) model {
	return ttlModel{around{t.model.scaled(k)}, t.ttl * k, t.ttlTo * k}
}

func (t ttlModel) admit(m memoryState, a ask) []memoryState { return t.known(m, a, model.admit) }
func (t ttlModel) deny(m memoryState, a ask) []memoryState  { return t.known(m, a, model.deny) }
func (t ttlModel) pass(m memoryState, a ask) []memoryState  { return t.known(m, a, model.pass) }

// known asks the model inside, as it is or as it starts.
func (t ttlModel) known(m memoryState, a ask, q question) []memoryState {
	var out []memoryState
	if known := m.clone(); known.zone.limit(now, lastAsked, t.ttlTo-t.model.traits().scale) {
		out = append(out, t.ask(known, a, q)...)
	}
	if m.zone.limit(lastAsked, now, -t.ttl) {
		out = append(out, t.ask(m, a, func(to model, m memoryState, a ask) []memoryState {
			t.renew(m)
			return q(to, m, a)
		})...)
	}
	for i := range out {
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
	t.around.forget(m, lo)
}
