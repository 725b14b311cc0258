package check

import "github.com/rlcheck/rlcheck/internal/spec"

// lastAsked is the time of a ttlModel.
const lastAsked = ownTime

// ttlModel forgets the memory of the model inside after a silence: a request that comes ttl or more after the
// last one, admitted or denied, finds it as it starts. A window that requests start anew is a quota that is
// forgotten so.
type ttlModel struct {
	around
	// ttl is the least and ttlTo the most that a silence lasts after which it forgets.
	ttl, ttlTo int64
	// admitted: only admitted requests are remembered so long, and those that find nothing remembered.
	admitted bool
}

func (t ttlModel) traits() traits {
	if t.admitted {
		return t.model.traits()
	}
	return t.remembers()
}

// start: where denied requests are not remembered so long, the first request finds nothing remembered.
func (t ttlModel) start(begin int64) memoryState {
	m := t.around.start(begin)
	if t.admitted {
		m.zone.set(lastAsked, now, -t.ttlTo)
	}
	return m
}

func (t ttlModel) scaled(k int64) model {
	return ttlModel{around{t.model.scaled(k)}, t.ttl * k, t.ttlTo * k, t.admitted}
}

func (t ttlModel) admit(m memoryState, a ask) []memoryState { return t.known(m, a, model.admit, true) }
func (t ttlModel) deny(m memoryState, a ask) []memoryState {
	return t.known(m, a, model.deny, !t.admitted)
}
func (t ttlModel) pass(m memoryState, a ask) []memoryState {
	return t.known(m, a, model.pass, !t.admitted)
}

// known asks the model inside, as it is or as it starts.
func (t ttlModel) known(m memoryState, a ask, q question, renews bool) []memoryState {
	var out []memoryState
	if known := m.clone(); known.zone.limit(now, lastAsked, t.ttlTo-t.model.traits().scale) {
		out = t.ask(known, a, q)
		if renews {
			asked(out)
		}
	}
	if m.zone.limit(lastAsked, now, -t.ttl) {
		out = append(out, asked(t.ask(m, a, func(to model, m memoryState, a ask) []memoryState {
			t.renew(m)
			return q(to, m, a)
		}))...)
	}
	return out
}

// asked makes the present the time of the last request.
func asked(all []memoryState) []memoryState {
	for i := range all {
		all[i].zone.set(lastAsked, now, 0)
	}
	return all
}

// renew makes the memory of the model inside what it is when it starts now: every time in it is some time
// from the present. (What a fixedModel has counted is no time, but is none once its window turns, as it does
// where the index of its window is what it was at the start.)
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

// newRefreshModel returns the model of a fixed window that requests start anew.
func newRefreshModel(p spec.Policy) model {
	tally := tallyModel{refreshed: newRefreshed(p), scale: 1}
	return ttlModel{around{tally}, tally.size, tally.size, p.Refresh == spec.RefreshAdmitted}
}

// tallyModel is a quota that never comes back: its count is what was counted.
type tallyModel struct {
	base
	refreshed
	scale int64
}

func (r tallyModel) traits() traits { return traits{scale: r.scale, counted: r.all} }

func (r tallyModel) scaled(k int64) model {
	r.scale *= k
	return r
}

func (r tallyModel) start(begin int64) memoryState {
	return memoryState{counts: make([]int64, 1), zone: newZone(begin)}
}

func (r tallyModel) admit(m memoryState, a ask) []memoryState {
	*m.count(0) += a.cost
	return onlyIf(*m.count(0) <= r.quota, m)
}

func (r tallyModel) deny(m memoryState, a ask) []memoryState {
	full := *m.count(0)+a.cost > r.quota
	if r.all {
		*m.count(0) = r.quota
	}
	return onlyIf(full, m)
}

func (r tallyModel) pass(m memoryState, a ask) []memoryState {
	if r.all {
		return r.admit(m, a)
	}
	return onlyIf(*m.count(0)+a.cost <= r.quota, m)
}
