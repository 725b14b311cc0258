package check

// sweep asks for every denial of a history whether some instant of its interval explains it.
//
// The instants worth trying for a denial are its own start and every start of a counted request inside its
// interval: between two of these the load of every limiter here only falls, also where a window ends.
type sweep struct {
	h *history
	m meter
	// own tells that the meter counts the denial itself, whose cost is then taken off.
	own  bool
	unit int64
	// pending are the denials begun and not yet explained; earliest is the smallest end among them, dearest
	// the largest cost that helps to explain one.
	pending  []int32
	earliest int64
	dearest  int64
	out      []int32
	// once ends the sweep with the first denial that nothing explains.
	once bool
}

// unexplained returns the indices in h.denied of the denials that no instant of their interval explains, in
// the order in which their intervals end. counted are the events that the meter counts, ascending by s.
func unexplained(h *history, m meter, counted []event, own bool) []int32 {
	w := &sweep{h: h, m: m, own: own}
	return w.unexplained(counted)
}

func (w *sweep) unexplained(counted []event) []int32 {
	w.unit, w.earliest = w.m.unit(), maxTime
	next, last := 0, minTime
	for j := range w.h.denied {
		d := &w.h.denied[j]
		for ; next < len(counted) && counted[next].s <= d.s; next++ {
			if len(w.pending) > 0 && counted[next].s > last {
				w.settle(counted[next].s)
				last = counted[next].s
			}
		}
		if len(w.pending) > 0 && d.s > last {
			w.settle(d.s)
		}
		last = d.s
		if w.begin(int32(j), d); w.once && len(w.out) > 0 {
			return w.out
		}
	}
	for ; len(w.pending) > 0 && next < len(counted); next++ {
		w.settle(counted[next].s)
	}
	return append(w.out, w.pending...)
}

// begin asks for denial j at its own start.
func (w *sweep) begin(j int32, d *event) {
	if w.explains(w.m.excess(d.s), d) {
		return
	}
	w.pending = append(w.pending, j)
	w.earliest = min(w.earliest, d.e)
	w.dearest = max(w.dearest, w.extra(d))
}

// extra is what a denial adds to the excess: a dear request is easier to deny.
func (w *sweep) extra(d *event) int64 {
	if w.own {
		return -w.unit
	}
	return (d.cost - 1) * w.unit
}

func (w *sweep) explains(excess int64, d *event) bool { return excess+w.extra(d) > 0 }

// settle drops the pending denials that instant t explains and gives up those that ended before it.
func (w *sweep) settle(t int64) {
	excess := w.m.excess(t)
	if w.earliest >= t && excess+w.dearest <= 0 {
		return
	}
	keep := w.pending[:0]
	w.earliest, w.dearest = maxTime, minTime/2
	for _, j := range w.pending {
		d := &w.h.denied[j]
		switch {
		case d.e < t:
			w.out = append(w.out, j)
		case !w.explains(excess, d):
			keep = append(keep, j)
			w.earliest = min(w.earliest, d.e)
			w.dearest = max(w.dearest, w.extra(d))
		}
	}
	w.pending = keep
}
