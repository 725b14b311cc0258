package check

// clocked is a machine with clocks that may stand still for a while.
type clocked interface {
	// moves returns the memories at t, one for each instant that the clocks may show then.
	moves(m memory, t int64) []memory
}

// ownClock is a machine with a clock of its own, beside others. Its word follows those of the machine inside,
// and holds 1 + what the clock shows. That is an instant of [t-lag, t], not before the one it showed last.
type ownClock struct {
	machine
	lag int64
}

// apart gives each machine that shares a clock a clock of its own.
func apart(list []machine) []machine {
	out := make([]machine, len(list))
	for i, m := range list {
		out[i] = m
		switch m := m.(type) {
		case stale:
			out[i] = ownClock(m)
		case owns:
			if c, ok := m.machine.(stale); ok {
				out[i] = ownsClocked{ownClock(c)}
			}
		}
	}
	return out
}

func (c ownClock) width() int { return c.machine.width() + 1 }

func (c ownClock) newborn() memory { return with(c.machine, c.machine.newborn(), 1+unborn) }

func (c ownClock) moves(m memory, t int64) []memory {
	word, m := own(c.machine, m)
	var out []memory
	for shows := max(word-1, t-c.lag); shows <= t; shows++ {
		out = append(out, with(c.machine, m, 1+shows))
	}
	return out
}

func (c ownClock) admits(m memory, _, cost int64) bool {
	word, m := own(c.machine, m)
	return c.machine.admits(m, word-1, cost)
}

func (c ownClock) after(m memory, _, cost int64, allow bool) memory {
	word, m := own(c.machine, m)
	return with(c.machine, c.machine.after(m, word-1, cost, allow), word)
}

func (c ownClock) settle(m memory, t int64) memory {
	word, m := own(c.machine, m)
	shows := max(word-1, t-c.lag)
	return with(c.machine, c.machine.settle(m, shows), 1+shows)
}

// ownsClocked is owns around an ownClock.
type ownsClocked struct{ ownClock }

func (o ownsClocked) counts() bool { return true }

func (o ownsClocked) after(m memory, t, cost int64, _ bool) memory {
	return o.ownClock.after(m, t, cost, o.admits(m, t, cost))
}

// moves combines each memory of one machine with each of the other.
func (p pair) moves(m memory, t int64) []memory {
	a, b := p.halves(m)
	var out []memory
	for _, a := range movesOf(p.a, a, t) {
		for _, b := range movesOf(p.b, b, t) {
			out = append(out, p.whole(a, b))
		}
	}
	return out
}

func movesOf(by machine, m memory, t int64) []memory {
	if c, ok := by.(clocked); ok {
		return c.moves(m, t)
	}
	return []memory{m}
}
