package check

// finishing is a machine that is told of completions.
type finishing interface {
	// finish returns the memory after a request of this cost was complete at t.
	finish(m memory, t, cost int64) memory
}

// finished is finish for a machine that may not be told of completions.
func finished(by machine, m memory, t, cost int64) memory {
	if f, ok := by.(finishing); ok {
		return f.finish(m, t, cost)
	}
	return m
}

func (p pair) finish(m memory, t, cost int64) memory {
	a, b := p.halves(m)
	return p.whole(finished(p.a, a, t, cost), finished(p.b, b, t, cost))
}

// seats is a limit on requests in flight. Its word is the number of units in flight.
type seats struct{ limit int64 }

func (seats) width() int { return 1 }

func (seats) newborn() memory { return memory{} }

func (s seats) admits(m memory, _, cost int64) bool { return m[0]+cost <= s.limit }

func (seats) after(m memory, _, cost int64, allow bool) memory {
	if allow {
		m[0] += cost
	}
	return m
}

func (seats) delay(memory, int64) int64 { return 0 }

func (seats) counts() bool { return false }

func (seats) settle(m memory, _ int64) memory { return m }

func (seats) finish(m memory, _, cost int64) memory {
	m[0] -= cost
	return m
}

// settlesLate is a machine that settles the cost of an admitted request when it is complete.
type settlesLate struct {
	machine
	asks, reserve int64
}

func (c settlesLate) admits(m memory, t, _ int64) bool { return c.machine.admits(m, t, c.asks) }

func (c settlesLate) after(m memory, t, _ int64, allow bool) memory {
	if allow && c.reserve > 0 {
		return amendedBy(c.machine, m, t, c.reserve)
	}
	return m
}

func (c settlesLate) finish(m memory, t, cost int64) memory {
	return amendedBy(c.machine, m, t, cost-c.reserve)
}

// amendedBy returns the memory after a machine counted more units at t, or fewer.
func amendedBy(by machine, m memory, t, n int64) memory {
	switch b := by.(type) {
	case tats:
		return memory{max(b.tat(m, t)+n*b.per, t*b.n)}
	case units:
		return units{b.quota, b.keep, true}.after(m, t, n, false)
	case fixedCount:
		m = b.at(m, t)
		if m[1] = max(m[1]+n, 0); b.first && m[0] == unborn && m[1] > 0 {
			m[0] = t
		}
		return m
	case twoCounts:
		m = b.at(m, t)
		m[2] += n
		return m
	}
	panic("check: no machine that settles")
}

// countsRequests is a machine for which each request costs 1.
type countsRequests struct{ machine }

func (c countsRequests) admits(m memory, t, _ int64) bool { return c.machine.admits(m, t, 1) }

func (c countsRequests) after(m memory, t, _ int64, allow bool) memory {
	return c.machine.after(m, t, 1, allow)
}

func (c countsRequests) finish(m memory, t, _ int64) memory { return finished(c.machine, m, t, 1) }
