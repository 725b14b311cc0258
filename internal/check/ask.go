package check

// asker asks the questions of a bound for the answer alone, without a witness, and again and again in the
// same memory: of one history under policies that differ in one parameter, or of very many small histories.
// The zero value is ready. It serves one goroutine.
type asker struct {
	list  []candidate
	done  []bool
	sweep sweep
}

// refutes is judgeOne without its breach.
func (a *asker) refutes(h *history, b bound, mode Conformance) bool {
	return mode != LowerBound && a.over(h, b) || mode != UpperBound && a.under(h, b)
}

// over tells whether b.over finds anything.
func (a *asker) over(h *history, b bound) bool {
	if bare, ok := b.(exceeder); ok {
		return bare.exceeds(h, a)
	}
	return b.over(h) != nil
}

// exceeder is a bound that tells without a witness whether its over finds anything.
type exceeder interface {
	exceeds(h *history, a *asker) bool
}

// marks returns n marks, none of them set, in the memory of a.
func (a *asker) marks(n int) []bool {
	if len(a.done) < n {
		a.done = make([]bool, 2*n)
	}
	clear(a.done[:n])
	return a.done[:n]
}

func (b bucket) exceeds(h *history, a *asker) bool {
	if b.startMost < b.burst {
		return b.over(h) != nil
	}
	if tooDear(h, b.burst) != nil {
		return true
	}
	c := candidates{n: b.n, list: a.list[:0]}
	_, over := b.firstOver(h, &c, a.marks(len(h.admitted)))
	a.list = c.list
	return over
}

func (r ring) exceeds(h *history, a *asker) bool {
	if r.all {
		return r.over(h) != nil
	}
	for m := int64(1); m <= spans; m++ {
		if _, over := r.firstOver(h, m, a.marks(len(h.admitted))); over {
			return true
		}
	}
	return tooDear(h, r.quota) != nil
}

func (c counter) exceeds(h *history, _ *asker) bool {
	if c.all {
		return c.over(h) != nil
	}
	_, _, over := c.firstOver(h)
	return over || tooDear(h, c.quota) != nil
}

// under tells whether unexplainedBy finds anything.
func (a *asker) under(h *history, b bound) bool {
	of := b.scope()
	if of.low || of.late || of.ban > 0 {
		return len(unexplainedBy(h, b)) > 0
	}
	if len(h.denied) == 0 {
		return false
	}
	pending, out := a.sweep.pending[:0], a.sweep.out[:0]
	a.sweep = sweep{h: h, m: b.usage(h), own: of.all, pending: pending, out: out, once: true}
	return len(a.sweep.unexplained(h.counted(of.all))) > 0
}
