package check

// bannedUntil is the time of a banModel.
const bannedUntil = ownTime

// banModel denies for a time after each denial of the model inside, which does not see what is asked
// meanwhile.
type banModel struct {
	around
	// ban is the least and banTo the most that a ban lasts.
	ban, banTo int64
}

func (b banModel) traits() traits { return b.remembers() }

func (b banModel) scaled(k int64) model {
	return banModel{around{b.model.scaled(k)}, b.ban * k, b.banTo * k}
}

func (b banModel) admit(m memoryState, a ask) []memoryState { return b.unbanned(m, a, model.admit) }

// pass: who would be admitted bans nobody, whatever another limiter says.
func (b banModel) pass(m memoryState, a ask) []memoryState { return b.unbanned(m, a, model.pass) }

// unbanned asks the model inside where no ban is on.
func (b banModel) unbanned(m memoryState, a ask, q question) []memoryState {
	if !m.zone.limit(bannedUntil, now, 0) {
		return nil
	}
	m.zone.spread(bannedUntil, now, -noBound, 0) // it is over, and matters no more
	return b.ask(m, a, q)
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
	for _, denied := range b.ask(m, a, model.deny) {
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
	b.around.forget(m, lo)
}
