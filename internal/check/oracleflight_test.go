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

// charges is a machine that charges an admitted request when it is complete. all is the same machine where
// denied requests are counted too.
type charges struct {
	machine
	all machine
}

func (c charges) after(m memory, _, _ int64, _ bool) memory { return m }

func (c charges) finish(m memory, t, cost int64) memory { return c.all.after(m, t, cost, false) }
