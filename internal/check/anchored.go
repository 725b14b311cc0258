package check

import (
	"sort"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// anchored tells whether the windows of pol are placed by the first counted request, and follow each other
// from there.
func anchored(pol spec.Policy) bool {
	return pol.Algorithm == spec.SlidingWindowCounter && pol.Align == spec.AlignFirst
}

// anchor is the interval in which the first request that is counted was decided; the first event may be.
// Where it is not known whether any was, that is by the last end.
func anchor(events []event, all bool) phases {
	first, last := phases{events[0].s, maxTime}, events[0].e
	for i := 0; i < len(events) && events[i].s <= first.to; i++ {
		ev := &events[i]
		if last = max(last, ev.e); ev.counts(all) && ev.surely(all) {
			first.to = min(first.to, ev.e)
		}
	}
	first.to = min(first.to, last)
	return first
}

// stretch returns the instant at which the windows begin anew for sure (maxTime if they do not), or where
// that becomes uncertain (sure=false). The first request, which may be counted, is in window 0 by definition.
// end is that of follower.
func stretch(events []event, all bool, w windows, end int64) (until int64, sure bool) {
	f := follow(events[0], all, w, end)
	for i := range events[1:] {
		if over, sure := f.next(&events[1+i]); over {
			return events[1+i].s, sure
		}
	}
	return maxTime, true
}

// follower follows the windows from the first counted request on.
type follower struct {
	windows
	all   bool
	first event
	// least and most are the last window that surely, and that perhaps, has a counted request.
	least, most int64
	// lost: one may be in any window to come. end is the last end of all requests, which is that of one whose
	// answer was lost.
	lost bool
	end  int64
}

func follow(first event, all bool, w windows, end int64) follower {
	f := follower{windows: w, all: all, first: first, end: end}
	f.reach(&first)
	return f
}

// next takes the next request, ascending by start. over tells that the windows may begin anew with it, sure
// that they do.
func (f *follower) next(ev *event) (over, sure bool) {
	switch {
	case !ev.counts(f.all):
		return false, false
	case !f.lost && ev.s >= f.latest(f.most+1):
		return true, true
	case ev.outcome == timeline.Unknown && ev.e >= f.end:
		// It may begin windows anew, after which nothing sure follows, as that would be uncertain; and
		// nothing is explained by it there that it does not explain in the windows of this stretch.
	case ev.e >= f.earliest(f.least+2) && ev.s > f.first.s:
		// Some earlier request may be in a window late enough; if the latest sure one is not, this is
		// uncertain.
		return true, false
	}
	if ev.surely(f.all) {
		f.least = max(f.least, f.windows.first(ev.s))
	}
	f.reach(ev)
	return false, false
}

func (f *follower) reach(ev *event) {
	if f.lost = f.lost || ev.e >= maxTime; !f.lost {
		f.most = max(f.most, f.last(ev.e))
	}
}

// anchoredModel is a sliding window counter whose windows begin with a request and follow each other, until
// one finds that two windows have passed.
type anchoredModel struct {
	base
	counter
	scale int64
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

// open returns the windows that the present may lie in: that of the last request, and the next one.
func (c anchoredModel) open(m memoryState) []seen {
	if *m.count(anchorWas) == 0 {
		return nil
	}
	return []seen{{m.clone(), 0, *m.count(anchorLast), *m.count(anchorThis)},
		{m.clone(), c.size, *m.count(anchorThis), 0}}
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

// The counts of an anchoredModel: 1 while a window was ever open, what was counted in the one that began at
// `opened`, and in the one before. It is the window of the last request that was counted, which may be over.
const (
	anchorWas = iota
	anchorThis
	anchorLast
)

func newAnchoredModel(p spec.Policy) anchoredModel {
	return anchoredModel{counter: newCounter(p, 0, 0), scale: 1}
}

// seen is a window that the present may lie in, and what is counted there.
type seen struct {
	m memoryState
	// turned is how long after `opened` the window began.
	turned    int64
	prev, cur int64
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
