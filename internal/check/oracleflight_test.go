package check

// finishing is a machine that is told of completions.
type finishing interface {
	// finish returns the memory after a request of the cost was complete at t.
	finish(m memory, t, cost int64) memory
}

// finished is finish, of a machine that may not care.
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

// seats is a limit on requests in flight: its word is how many units are.
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

// charges is a machine that counts an admitted request when it is complete; all is the same one that counts
// denied requests.
type charges struct {
	machine
	all machine
}

func (c charges) after(m memory, _, _ int64, _ bool) memory { return m }

func (c charges) finish(m memory, t, cost int64) memory { return c.all.after(m, t, cost, false) }
