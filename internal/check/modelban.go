package check

// banned until and last asked are the first variable of the models around another.
const (
	bannedUntil = firstVariable
	lastAsked   = firstVariable
)

// inside returns the state as the model inside sees it, which comes after n variables of the one around it; outside is the
// way back.
func (m memoryState) inside(n int) memoryState {
	m.zone.skip += n
	return m
}

func (m memoryState) outside(n int) memoryState {
	m.zone.skip -= n
	return m
}

// banModel denies for a time after each denial of the model inside, which does not see what is asked meanwhile.
type banModel struct {
	model
	// ban is the least and banTo the most that a ban lasts.
	ban, banTo int64
}

func (b banModel) traits() traits {
	t := b.model.traits()
	t.counted = true
	return t
}

func (b banModel) scaled(k int64) model { return banModel{b.model.scaled(k), b.ban * k, b.banTo * k} }

func (b banModel) start(begin int64) memoryState {
	m := b.model.start(begin)
	m.zone = m.zone.withFirst()
	return m
}

func (b banModel) admit(m memoryState, a ask) []memoryState {
	return b.unbanned(m, func(m memoryState) []memoryState { return b.model.admit(m, a) })
}

// pass: who would be admitted bans nobody, whatever another limiter says.
func (b banModel) pass(m memoryState, a ask) []memoryState {
	return b.unbanned(m, func(m memoryState) []memoryState { return passed(b.model, m, a) })
}

// unbanned asks the model inside where no ban is on.
func (b banModel) unbanned(m memoryState, decide func(memoryState) []memoryState) []memoryState {
	if !m.zone.limit(bannedUntil, now, 0) {
		return nil
	}
	m.zone.spread(bannedUntil, now, -noBound, 0) // it is over, and matters no more
	out := decide(m.inside(1))
	for i := range out {
		out[i] = out[i].outside(1)
	}
	return out
}

// deny: inside a ban, which that does not renew, or by the model inside, which begins one.
func (b banModel) deny(m memoryState, a ask) []memoryState {
	var out []memoryState
	if on := m.clone(); on.zone.limit(now, bannedUntil, -b.traits().scale) {
		out = append(out, on)
	}
	if !m.zone.limit(bannedUntil, now, 0) {
		return out
	}
	for _, denied := range b.model.deny(m.inside(1), a) {
		denied = denied.outside(1)
		denied.zone.spread(bannedUntil, now, b.ban, b.banTo)
		out = append(out, denied)
	}
	return out
}

// forget: a ban that is over at lo is as good as any other.
func (b banModel) forget(m memoryState, lo int64) {
	if m.zone.bound(bannedUntil, 0) <= lo {
		m.zone.free(bannedUntil, lo)
	}
	if f, ok := b.model.(forgetful); ok {
		f.forget(m.inside(1), lo)
	}
}
