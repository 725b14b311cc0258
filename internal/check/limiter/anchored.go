package limiter

import (
	"sort"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/zone"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var anchoredKind = kind{
	fits:     Anchored,
	counting: counterCounting,
	model: func(p spec.Policy, _ history.Interval, _ []int64) Model {
		return newAnchoredModel(p)
	},
}

// Anchor is the interval in which the first request that is counted was decided; the first event may be.
// Where it is not known whether any was, that is by the last end.
func Anchor(events []history.Event, all bool) history.Interval {
	first, last := history.Interval{From: events[0].Start, To: history.MaxTime}, events[0].End
	for i := 0; i < len(events) && events[i].Start <= first.To; i++ {
		ev := &events[i]
		if last = max(last, ev.End); ev.Counts(all) && ev.Surely(all) {
			first.To = min(first.To, ev.End)
		}
	}
	first.To = min(first.To, last)
	return first
}

// Stretch returns the instant at which the windows begin anew for sure (MaxTime if they do not), or where
// that becomes uncertain (sure=false). The first request, which may be counted, is in window 0 by definition.
// end is the one of Follower.
func Stretch(events []history.Event, all bool, w Grid, end int64) (until int64, sure bool) {
	f := Follow(events[0], all, w, end)
	for i := range events[1:] {
		if over, sure := f.Next(&events[1+i]); over {
			return events[1+i].Start, sure
		}
	}
	return history.MaxTime, true
}

// Follower follows the windows from the first counted request on.
type Follower struct {
	Grid
	all   bool
	first history.Event
	// least and most are the last window that surely, and that perhaps, has a counted request.
	least, most int64
	// lost: one may be in any window to come. end is the last end of all requests, which is that of one whose
	// answer was lost.
	lost bool
	end  int64
}

// Follow returns the follower of the windows that the first counted request begins.
func Follow(first history.Event, all bool, w Grid, end int64) Follower {
	f := Follower{Grid: w, all: all, first: first, end: end}
	f.reach(&first)
	return f
}

// Next takes the next request, ascending by start. over tells that the windows may begin anew with it, sure
// that they do.
func (f *Follower) Next(ev *history.Event) (over, sure bool) {
	switch {
	case !ev.Counts(f.all):
		return false, false
	case !f.lost && ev.Start >= f.Latest(f.most+1):
		return true, true
	case ev.Outcome == timeline.Unknown && ev.End >= f.end:
		// It may begin windows anew, after which nothing sure follows, as that would be uncertain; and
		// nothing is explained by it there that it does not explain in the windows of this stretch.
	case ev.End >= f.earliest(f.least+2) && ev.Start > f.first.Start:
		// Some earlier request may be in a window late enough; if the latest sure one is not, this is
		// uncertain.
		return true, false
	}
	if ev.Surely(f.all) {
		f.least = max(f.least, f.Grid.FirstOf(ev.Start))
	}
	f.reach(ev)
	return false, false
}

func (f *Follower) reach(ev *history.Event) {
	if f.lost = f.lost || ev.End >= history.MaxTime; !f.lost {
		f.most = max(f.most, f.LastOf(ev.End))
	}
}

// anchoredModel is a sliding window counter whose windows begin with a request and follow each other, until
// one finds that two windows have passed.
type anchoredModel struct {
	base
	Counter
	scale int64
}

func (c anchoredModel) Traits() Traits { return Traits{Scale: c.scale, Counted: c.all} }

func (c anchoredModel) Scaled(k int64) Model {
	c.scale *= k
	c.Grid = c.Grid.scaled(k)
	return c
}

func (c anchoredModel) Pass(m State, a Request) []State { return Passed(c, m, a) }

func (c anchoredModel) Start(begin int64) State {
	return State{Counts: make([]int64, 3), Zone: zone.New(begin, begin)}
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

// open returns the windows that the present may lie in: the window of the last request, and the next one.
func (c anchoredModel) open(m State) []seen {
	if *m.count(anchorWas) == 0 {
		return nil
	}
	return []seen{{m.Clone(), 0, *m.count(anchorLast), *m.count(anchorThis)},
		{m.Clone(), c.size, *m.count(anchorThis), 0}}
}

// anew limits m to where a request finds no window, as two have passed or none was ever open, and tells
// whether it may.
func (c anchoredModel) anew(m State) bool {
	return *m.count(anchorWas) == 0 || m.Zone.Limit(opened, zone.Now, -2*c.size)
}

// begin opens a window at the present.
func (c anchoredModel) begin(m State, cost int64) State {
	m.Zone.Set(opened, zone.Now, 0)
	*m.count(anchorWas), *m.count(anchorThis), *m.count(anchorLast) = 1, cost, 0
	return m
}

func (c anchoredModel) Admit(m State, a Request) []State {
	if a.Cost > c.quota {
		return nil
	}
	var out []State
	for _, s := range c.open(m) {
		if s.within(c.room(s.prev, s.cur, a.Cost), c.size-c.scale) {
			out = append(out, s.counts(a.Cost))
		}
	}
	if c.anew(m) {
		out = append(out, c.begin(m, a.Cost))
	}
	return out
}

// Deny leaves the windows as they are where denied requests are not counted: only those that are make them
// turn.
func (c anchoredModel) Deny(m State, a Request) []State {
	if a.Cost > c.quota && !c.all {
		return []State{m}
	}
	var out []State
	for _, s := range c.open(m) {
		until := c.size - c.scale
		if a.Cost <= c.quota {
			until = min(until, c.room(s.prev, s.cur, a.Cost)-1)
		}
		switch {
		case !s.within(0, until):
		case c.all:
			out = append(out, s.counts(a.Cost))
		default:
			out = append(out, s.m)
		}
	}
	if a.Cost > c.quota && c.anew(m) {
		out = append(out, c.begin(m, a.Cost))
	}
	return out
}

// Forget: windows that are over at lo, with the ones that would follow, are as good as none.
func (c anchoredModel) Forget(m State, lo int64) {
	if m.Zone.Bound(opened, 0) <= lo-2*c.size {
		m.Zone.Free(opened, lo-2*c.size)
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
	return anchoredModel{Counter: NewCounter(p, 0, 0), scale: 1}
}

// seen is a window that the present may lie in, and what is counted there.
type seen struct {
	m State
	// turned is how long after `opened` the window began.
	turned    int64
	prev, cur int64
}

// within keeps the instants from..to into the window, and tells whether there are any.
func (s seen) within(from, to int64) bool {
	return from <= to && s.m.Zone.Limit(opened, zone.Now, -s.turned-from) &&
		s.m.Zone.Limit(zone.Now, opened, s.turned+to)
}

// counts returns the state after a request was counted in the window.
func (s seen) counts(cost int64) State {
	s.m.Zone.Shift(opened, s.turned)
	*s.m.count(anchorThis), *s.m.count(anchorLast) = s.cur+cost, s.prev
	return s.m
}
