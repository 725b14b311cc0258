package limiter

import (
	"sort"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var anchoredKind = kind{
	counting: counterCounting,
	model: func(p spec.Policy, _ history.Interval, _ []int64) Model {
		return newAnchoredModel(p)
	},
}

// Anchor returns the interval in which the first counted request was decided. events ascend by Start and are
// not empty. Where no request is surely counted, the interval reaches to the last End.
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

// Stretch returns the instant at which the windows surely begin anew; MaxTime: they never do. sure=false: at
// that instant it becomes uncertain whether they do. The first request may be counted and is in window 0 by
// definition. end is that of Follower.
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
	// least is the last window that surely has a counted request, most the last window that perhaps has one.
	least, most int64
	// lost: a request without an answer may be in any later window. end is the last End of all requests,
	// which is the End of a request without an answer.
	lost bool
	end  int64
}

// Follow returns a Follower of the windows that begin with the first counted request.
func Follow(first history.Event, all bool, w Grid, end int64) Follower {
	f := Follower{Grid: w, all: all, first: first, end: end}
	f.reach(&first)
	return f
}

// Next takes the next request, ascending by Start. over: the windows may begin anew with it. sure: they do.
func (f *Follower) Next(ev *history.Event) (over, sure bool) {
	switch {
	case !ev.Counts(f.all):
		return false, false
	case !f.lost && ev.Start >= f.Latest(f.most+1):
		return true, true
	case ev.Outcome == timeline.Unknown && ev.End >= f.end:
		// This lost request may begin windows anew, but nothing sure follows these. Whatever it explains
		// there it also explains in the windows of this stretch.
	case ev.End >= f.earliest(f.least+2) && ev.Start > f.first.Start:
		// An earlier request may be in a window late enough to prevent a new beginning. The latest sure
		// request is not, so this is uncertain.
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

// anchoredModel is a sliding window counter whose windows begin with a request and follow each other. They
// end when a request finds that two windows have passed without one.
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
	return State{Counts: make([]int64, 3), Zone: NewZone(begin, begin)}
}

// room returns how far into a window a request of this cost is first admitted: the weight of the window
// before falls with time. It returns size if the request is not admitted in the window.
func (c anchoredModel) room(prev, cur, cost int64) int64 {
	if cost > c.quota-cur {
		return c.size
	}
	return int64(sort.Search(int(c.size), func(x int) bool {
		return c.weighted(prev, c.size-int64(x))+cur+cost-1 < c.quota
	}))
}

// open returns the windows in which the present may lie: that of the last counted request, and the next one.
func (c anchoredModel) open(m State) []seen {
	if *m.count(anchorWas) == 0 {
		return nil
	}
	return []seen{{m.Clone(), 0, *m.count(anchorLast), *m.count(anchorThis)},
		{m.Clone(), c.size, *m.count(anchorThis), 0}}
}

// anew limits m to the instants at which a request finds no window: two have passed, or none was ever open.
// false: there are no such instants.
func (c anchoredModel) anew(m State) bool {
	return *m.count(anchorWas) == 0 || m.Zone.Limit(opened, ZoneNow, -2*c.size)
}

// begin opens a window at the present.
func (c anchoredModel) begin(m State, cost int64) State {
	m.Zone.Set(opened, ZoneNow, 0)
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

// Deny leaves the windows as they are where denied requests are not counted: only counted requests make them
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

// Forget: windows that are over at lo, and the next one too, are as good as none.
func (c anchoredModel) Forget(m State, lo int64) {
	if m.Zone.Bound(opened, 0) <= lo-2*c.size {
		m.Zone.Free(opened, lo-2*c.size)
		*m.count(anchorWas), *m.count(anchorThis), *m.count(anchorLast) = 0, 0, 0
	}
}

// The counts of an anchoredModel. anchorWas is 1 once a window was opened. anchorThis are the units in the
// window that began at `opened`, that of the last counted request, which may be over. anchorLast are the
// units in the one before.
const (
	anchorWas = iota
	anchorThis
	anchorLast
)

func newAnchoredModel(p spec.Policy) anchoredModel {
	return anchoredModel{Counter: NewCounter(p, 0, 0), scale: 1}
}

// seen is a window in which the present may lie, with the units counted there (cur) and in the one before
// (prev).
type seen struct {
	m State
	// turned is how long after `opened` the window began, scaled.
	turned    int64
	prev, cur int64
}

// within limits the present to from..to into the window. false: no instant is left.
func (s seen) within(from, to int64) bool {
	return from <= to && s.m.Zone.Limit(opened, ZoneNow, -s.turned-from) &&
		s.m.Zone.Limit(ZoneNow, opened, s.turned+to)
}

// counts returns the state after a request was counted in the window.
func (s seen) counts(cost int64) State {
	s.m.Zone.Shift(opened, s.turned)
	*s.m.count(anchorThis), *s.m.count(anchorLast) = s.cur+cost, s.prev
	return s.m
}
