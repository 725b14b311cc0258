package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
)

// refreshModel is a fixed window that requests start anew. Its time is when that was last done, its count what was counted
// since the window began; none is as good as no window.
type refreshModel struct {
	base
	refreshed
	scale int64
}

// The time and the count of a refreshModel.
const (
	refreshedAt = firstVariable
	inOpen      = 0
)

func newRefreshModel(p spec.Policy) refreshModel {
	return refreshModel{refreshed: newRefreshed(p), scale: 1}
}

func (r refreshModel) traits() traits { return traits{scale: r.scale, counted: r.all || r.every} }

func (r refreshModel) scaled(k int64) model {
	r.scale *= k
	r.size *= k
	return r
}

func (r refreshModel) start(begin int64) memoryState {
	return memoryState{counts: make([]int64, 1), zone: newZone(begin, begin)}
}

// open limits m to the instants at which its window is open, and tells whether there are any; closed to the others.
func (r refreshModel) open(m memoryState) bool {
	return *m.count(inOpen) > 0 && m.zone.limit(now, refreshedAt, r.size-r.scale)
}

func (r refreshModel) closed(m memoryState) bool {
	return *m.count(inOpen) == 0 || m.zone.limit(refreshedAt, now, -r.size)
}

// anew returns m with its window started anew at the present, and what is counted in it.
func (r refreshModel) anew(m memoryState, units int64) memoryState {
	m.zone.set(refreshedAt, now, 0)
	*m.count(inOpen) = units
	return m
}

func (r refreshModel) admit(m memoryState, a ask) []memoryState {
	if a.cost > r.quota {
		return nil
	}
	var out []memoryState
	if units := *m.count(inOpen) + a.cost; units <= r.quota {
		if in := m.clone(); r.open(in) {
			out = append(out, r.anew(in, units))
		}
	}
	if r.closed(m) {
		out = append(out, r.anew(m, a.cost))
	}
	return out
}

// deny: in an open window without room, or for good.
func (r refreshModel) deny(m memoryState, a ask) []memoryState {
	var out []memoryState
	if *m.count(inOpen)+a.cost > r.quota {
		if in := m.clone(); r.open(in) {
			out = append(out, r.passed(in, r.quota))
		}
	}
	if a.cost > r.quota && r.closed(m) {
		out = append(out, r.passed(r.anew(m, 0), r.quota))
	}
	return out
}

// passed returns the memory of an open window, or of none that was just made, after a request that was denied there; units
// are what is counted in it then, where that is counted.
func (r refreshModel) passed(m memoryState, units int64) memoryState {
	if r.every && *m.count(inOpen) > 0 {
		m.zone.set(refreshedAt, now, 0)
	}
	if r.all {
		*m.count(inOpen) = units
	}
	return m
}

// pass: a request that there is room for is denied by another policy.
func (r refreshModel) pass(m memoryState, a ask) []memoryState {
	if a.cost > r.quota {
		return nil
	}
	var out []memoryState
	if units := *m.count(inOpen) + a.cost; units <= r.quota {
		if in := m.clone(); r.open(in) {
			out = append(out, r.passed(in, units))
		}
	}
	if r.closed(m) {
		out = append(out, r.passed(r.anew(m, 0), a.cost))
	}
	return out
}

// forget: a window that has ended at lo is as good as none.
func (r refreshModel) forget(m memoryState, lo int64) {
	if m.zone.bound(refreshedAt, 0) <= lo-r.size {
		m.zone.free(refreshedAt, lo-r.size)
		*m.count(inOpen) = 0
	}
}
