package check

// windowMeter counts the units that may be in the window that contains an instant, or in it and some before
// it.
type windowMeter struct {
	windows
	// n is the number of windows that count.
	n, quota int64
	starts   []event
	i        int
	units    int64
	gone     tally
}

// newWindowMeter returns the meter of n windows that follow each other; all: denied requests are counted too.
func newWindowMeter(h *history, w windows, n, quota int64, all bool) *windowMeter {
	return &windowMeter{windows: w, n: n, quota: quota, starts: h.counted(all),
		gone: newTally(h.countedEnds(all))}
}

func (m *windowMeter) unit() int64 { return 1 }

func (m *windowMeter) excess(t int64) int64 {
	for ; m.i < len(m.starts) && m.starts[m.i].s <= t; m.i++ {
		m.units += m.starts[m.i].cost
	}
	// Of the windows that may contain t, the one that began first holds the most, and has the most behind it.
	begin := max(m.earliest(m.first(t)-m.n+1), t-m.n*m.sizeTo+1)
	return m.units - m.gone.before(begin) - m.quota + 1
}
