package check

import (
	"sort"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// The counts of an anchoredModel: 1 while a window was ever open, what was counted in the one that began at
// `opened`, and in the one before. It is the window of the last request that was counted, which may be over.
const (
	anchorWas = iota
	anchorThis
	anchorLast
)

// anchoredModel is a sliding window counter whose windows begin with a request and follow each other, until
// one finds that two windows have passed.
type anchoredModel struct {
	base
	counter
	scale int64
}

func newAnchoredModel(p spec.Policy) anchoredModel {
	return anchoredModel{counter: newCounter(p, 0, 0), scale: 1}
}

func (c anchoredModel) traits() traits { return traits{scale: c.scale, counted: c.all} }

func (c anchoredModel) scaled(k int64) model {
	c.scale *= k
	c.windows = c.windows.scaled(k)
	return c
}

func (c anchoredModel) pass(m memoryState, a ask) []memoryState { return passed(c, m, a) }

func (c anchoredModel) start(begin int64) memoryState {
	return memoryState{counts: make([]int64, 3), zone: newZone(begin, begin)}
}

// room returns how far into a window a request of the cost is first admitted, size where it is not: the
// weight of the window before falls with time.
func (c anchoredModel) room(prev, cur, cost int64) int64 {
	if cost > c.quota-cur {
		return c.size
	}
	return int64(sort.Search(int(c.size), func(x int) bool {
		return c.weighted(prev, c.size-int64(x))+cur+cost-1 < c.quota
	}))
}

// seen is a window that the present may lie in, and what is counted there.
type seen struct {
	m memoryState
	// turned is how long after `opened` the window began.
	turned    int64
	prev, cur int64
}

// open returns the windows that the present may lie in: that of the last request, and the next one.
func (c anchoredModel) open(m memoryState) []seen {
	if *m.count(anchorWas) == 0 {
		return nil
	}
	return []seen{{m.clone(), 0, *m.count(anchorLast), *m.count(anchorThis)},
		{m.clone(), c.size, *m.count(anchorThis), 0}}
}

// within keeps the instants from..to into the window, and tells whether there are any.
func (s seen) within(from, to int64) bool {
	return from <= to && s.m.zone.limit(opened, now, -s.turned-from) &&
		s.m.zone.limit(now, opened, s.turned+to)
}

// counts returns the state after a request was counted in the window.
func (s seen) counts(cost int64) memoryState {
	s.m.zone.shift(opened, s.turned)
	*s.m.count(anchorThis), *s.m.count(anchorLast) = s.cur+cost, s.prev
	return s.m
}

// anew limits m to where a request finds no window, as two have passed or none was ever open, and tells
// whether it may.
func (c anchoredModel) anew(m memoryState) bool {
	return *m.count(anchorWas) == 0 || m.zone.limit(opened, now, -2*c.size)
}

// begin opens a window at the present.
func (c anchoredModel) begin(m memoryState, cost int64) memoryState {
	m.zone.set(opened, now, 0)
	*m.count(anchorWas), *m.count(anchorThis), *m.count(anchorLast) = 1, cost, 0
	return m
}

func (c anchoredModel) admit(m memoryState, a ask) []memoryState {
	if a.cost > c.quota {
		return nil
	}
	var out []memoryState
	for _, s := range c.open(m) {
		if s.within(c.room(s.prev, s.cur, a.cost), c.size-c.scale) {
			out = append(out, s.counts(a.cost))
		}
	}
	if c.anew(m) {
		out = append(out, c.begin(m, a.cost))
	}
	return out
}

// deny leaves the windows as they are where denied requests are not counted: only those that are make them
// turn.
func (c anchoredModel) deny(m memoryState, a ask) []memoryState {
	if a.cost > c.quota && !c.all {
		return []memoryState{m}
	}
	var out []memoryState
	for _, s := range c.open(m) {
		until := c.size - c.scale
		if a.cost <= c.quota {
			until = min(until, c.room(s.prev, s.cur, a.cost)-1)
		}
		switch {
		case !s.within(0, until):
		case c.all:
			out = append(out, s.counts(a.cost))
		default:
			out = append(out, s.m)
		}
	}
	if a.cost > c.quota && c.anew(m) {
		out = append(out, c.begin(m, a.cost))
	}
	return out
}

// forget: windows that are over at lo, with the ones that would follow, are as good as none.
func (c anchoredModel) forget(m memoryState, lo int64) {
	if m.zone.bound(opened, 0) <= lo-2*c.size {
		m.zone.free(opened, lo-2*c.size)
		*m.count(anchorWas), *m.count(anchorThis), *m.count(anchorLast) = 0, 0, 0
	}
}
