package check

// asker asks the questions of a bound for the answer alone, without a witness, and again and again in the same memory: of
// one history under policies that differ in one parameter, or of very many small histories. The zero value is ready. It
// serves one goroutine.
type asker struct {
	list  []candidate
	done  []bool
	meter bucketMeter
	sweep sweep
}

// refutes is judgeOne without its breach.
func (a *asker) refutes(h *history, b bound, mode Conformance) bool {
	return mode != LowerBound && a.over(h, b) || mode != UpperBound && a.under(h, b)
}

// over tells whether b.over finds anything.
func (a *asker) over(h *history, b bound) bool {
	bk, ok := b.(bucket)
	if !ok || bk.startMost < bk.burst {
		return b.over(h) != nil
	}
	if tooDear(h, bk.burst) != nil {
		return true
	}
	if len(a.done) < len(h.admitted) {
		a.done = make([]bool, 2*len(h.admitted))
	}
	done := a.done[:len(h.admitted)]
	clear(done)
	c := candidates{n: bk.n, list: a.list[:0]}
	_, over := bk.firstOver(h, &c, done)
	a.list = c.list
	return over
}

// under tells whether unexplainedBy finds anything.
func (a *asker) under(h *history, b bound) bool {
	if len(h.denied) == 0 {
		return false
	}
	switch b.(type) {
	case banned, charged, sided, expiring:
		return len(unexplainedBy(h, b)) > 0
	}
	var m meter
	if bk, ok := b.(bucket); ok {
		a.meter = bk.meter(h)
		m = &a.meter
	} else {
		m = b.usage(h)
	}
	a.sweep = sweep{h: h, m: m, own: b.countsAll(), pending: a.sweep.pending[:0], out: a.sweep.out[:0], once: true}
	return len(a.sweep.unexplained(h.counted(b.countsAll()))) > 0
}
