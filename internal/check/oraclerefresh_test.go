package check

// renewed is a fixed window that requests start anew. Word 0 is when that last happened, unborn for no
// window. Word 1 is its count.
type renewed struct {
	quota, size int64
	all, every  bool
}

func (w renewed) width() int { return 2 }

func (w renewed) newborn() memory { return memory{unborn} }

func (w renewed) at(m memory, t int64) memory {
	if m[1] == 0 || t >= m[0]+w.size {
		return memory{unborn}
	}
	return m
}

func (w renewed) admits(m memory, t, cost int64) bool { return w.at(m, t)[1]+cost <= w.quota }

func (w renewed) after(m memory, t, cost int64, allow bool) memory {
	m = w.at(m, t)
	counted := allow || w.all
	if counted && m[0] == unborn || m[0] != unborn && (allow || w.every) {
		m[0] = t
	}
	if counted {
		m[1] = min(w.quota, m[1]+cost)
	}
	return m
}

func (w renewed) delay(memory, int64) int64 { return 0 }

func (w renewed) counts() bool { return w.all || w.every }

func (w renewed) settle(m memory, t int64) memory { return w.at(m, t) }
