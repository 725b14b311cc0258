package check

import "github.com/rlcheck/rlcheck/internal/check/history"

// ringCount is a window divided into slots. Word 0 is when the current slot began. Word 1 is its count, word
// 2 that of the slot before, and so on.
type ringCount struct {
	slots, quota, size, phase int64
	all                       bool
}

func (r ringCount) width() int { return 1 + int(r.slots) }

func (r ringCount) newborn() memory { return memory{unborn} }

func (r ringCount) at(m memory, t int64) memory {
	out := memory{t - history.Mod(t-r.phase, r.size)}
	for k := range r.slots {
		if to := k + (out[0]-m[0])/r.size; m[0] != unborn && to < r.slots {
			out[1+to] = m[1+k]
		}
	}
	return out
}

func (r ringCount) admits(m memory, t, cost int64) bool {
	m = r.at(m, t)
	for k := range r.slots {
		cost += m[1+k]
	}
	return cost <= r.quota
}

func (r ringCount) after(m memory, t, cost int64, allow bool) memory {
	m = r.at(m, t)
	if allow || r.all {
		m[1] = min(r.quota, m[1]+cost)
	}
	return m
}

func (ringCount) delay(memory, int64) int64 { return 0 }

func (r ringCount) counts() bool { return r.all }

func (r ringCount) settle(m memory, t int64) memory { return r.at(m, t) }
