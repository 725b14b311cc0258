package search

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// keepBack looks for one explanation of a history, forward in time. It keeps each admission back until its
// interval ends, the one that ends first before the others. Those that are kept back serve the denials: at
// the last instant at which they are enough to use up what the limiter would still give, they are decided,
// and then all denials that wait. The reference is asked of each decision, so that an explanation is one.
type keepBack struct {
	h     *history.History
	lim   reference.Limiter
	state reference.State
	// order are the indices of the events ascending by end, rank where each is in it.
	order, rank []int32
	// kept are the ranks of the admissions that wait, ascending, and stock their costs together.
	kept  []int32
	stock int64
	// refused are the indices of the denials that wait, least is the lowest of their costs.
	refused []int32
	least   int64
	decided []bool
	// last is the last instant at which the denials that wait could be decided; since are the indices of the
	// events that were decided after it.
	last  mark
	since []int32
	// thrifty: an admission that waits is decided when the limiter is about to be as good as new, as what it
	// would give from then on is lost.
	thrifty bool
	// full is when the limiter is as good as new, MaxTime where that is not known; early is by how much an
	// admission must come before, to count against what was; now is when the last event began or ended.
	full, early, now int64
	// i events have begun, k have ended.
	i, k int
	// plan is what a bucket must lose, nil for any other limiter; lost what is left of it, spent what was
	// admitted, in its units.
	plan  *overflowPlan
	lost  []overflow
	spent int64
	// needs are what fixed windows must still have admitted when they end.
	needs []need
	// ahead are the indices of the admissions that were decided though they could wait.
	ahead []int32
}

// mark is where a keepBack was at an instant, when so many events had begun and ended.
type mark struct {
	at, stock, least, full, spent int64
	begun, ended                  int
	needs                         []need
	state                         reference.State
	kept, refused, ahead          []int32
	lost                          []overflow
}

// keptBack tells whether such an explanation of h is found. It costs O(n log n).
func keptBack(h *history.History, lim reference.Limiter, limit spec.Limit, at []int64) bool {
	x := &keepBack{h: h, lim: lim, order: history.OrderByEnd(h.All), rank: make([]int32, len(h.All)),
		decided: make([]bool, len(h.All))}
	for k, i := range x.order {
		x.rank[i] = int32(k)
	}
	for i := range h.All {
		if x.begin(int32(i)) > h.All[i].End || x.begin(int32(i)) < 0 {
			return false
		}
	}
	if len(limit) > 1 {
		return x.explains(true) || x.explains(false)
	}
	if limit[0].HasWindow() {
		x.early = 1
	}
	switch {
	case steady(limit[0]):
		x.plan = planOverflow(h, limit[0], x.order)
		return x.plan != nil && x.explains(true)
	case planned(limit[0]):
		x.needs = planQuotas(h, limit[0], at[0], x.order)
		return x.explains(false)
	}
	return x.explains(true) || x.explains(false)
}

// begin returns when an event may be decided at the earliest, by a clock that never stands still.
func (x *keepBack) begin(i int32) int64 { return x.h.All[i].Start + x.h.Lag }

// explains tells whether there is an explanation of this kind, thrifty or not.
func (x *keepBack) explains(thrifty bool) bool {
	x.state, x.thrifty, x.full = x.lim.Init(), thrifty, history.MaxTime
	x.kept, x.refused, x.stock, x.spent, x.now = x.kept[:0], x.refused[:0], 0, 0, 0
	clear(x.decided)
	if x.plan != nil {
		x.lost, x.ahead, x.full = x.plan.lost, x.ahead[:0], x.begin(0)
	}
	x.last.at, x.since = -1, x.since[:0]
	all := x.h.All
	for x.i, x.k = 0, 0; x.k < len(all); {
		switch {
		case x.i < len(all) && x.begin(int32(x.i)) <= all[x.order[x.k]].End:
			x.i++
			x.begins(int32(x.i - 1))
		case x.ends(x.order[x.k]):
			x.k++
		case !x.back(x.order[x.k]):
			return false
		}
	}
	return true
}

// begins adds an event to those that wait.
func (x *keepBack) begins(i int32) {
	ev, at := &x.h.All[i], x.begin(i)
	x.spend(at)
	switch ev.Outcome {
	case timeline.Unknown: // taken never to have arrived
		x.decided[i] = true
		return
	case timeline.Allowed:
		k, _ := slices.BinarySearch(x.kept, x.rank[i])
		x.kept = slices.Insert(x.kept, k, x.rank[i])
		x.stock += ev.Cost
	case timeline.Denied:
		if len(x.refused) == 0 || ev.Cost < x.least {
			x.least = ev.Cost
		}
		x.refused = append(x.refused, i)
	}
	x.settle(at, false)
}

// ends decides an event whose interval ends, if it still waits; ok=false where the limiter answers otherwise.
func (x *keepBack) ends(i int32) (ok bool) {
	if x.decided[i] {
		return true
	}
	ev := &x.h.All[i]
	x.spend(ev.End)
	if !x.decided[i] && ev.Outcome == timeline.Allowed && !x.admit(ev.End) {
		return false
	}
	if len(x.refused) > 0 {
		x.refuse(ev.End)
	}
	return x.decided[i]
}

// spend decides admissions that wait whenever the limiter is about to be as good as new, before an instant.
func (x *keepBack) spend(before int64) {
	for ; len(x.needs) > 0 && x.needs[0].by <= before; x.needs = x.needs[1:] {
		for x.spent < x.needs[0].least && len(x.kept) > 0 && x.admit(x.needs[0].by-x.early) {
		}
	}
	for x.thrifty && len(x.kept) > 0 && x.full-x.early < before {
		at := x.overflown(max(x.full-x.early, x.now))
		if at >= before {
			break
		}
		if at >= x.full && x.early > 0 || !x.admit(at) {
			x.full = history.MaxTime
		}
	}
	x.now = before
}

// overflown returns until when the next admission is kept back of a bucket that is full at an instant, so
// that it loses what it must.
func (x *keepBack) overflown(at int64) int64 {
	if x.plan == nil {
		return at
	}
	for len(x.lost) > 0 && (x.lost[0].by < at || x.lost[0].least <= at*x.plan.N-x.spent) {
		x.lost = x.lost[1:]
	}
	next := &x.h.All[x.order[x.kept[0]]]
	for _, must := range x.lost {
		if must.by < at || next.End < must.by || x.later(must, next.Cost*x.plan.Per) {
			break
		}
		if until := (must.least + x.spent + x.plan.N - 1) / x.plan.N; until <= must.by {
			at = max(at, until)
		}
	}
	return at
}

// later tells whether a bucket that gives so much now to what could wait can still lose later what it must.
func (x *keepBack) later(must overflow, more int64) bool {
	x.ahead = slices.DeleteFunc(x.ahead, func(i int32) bool { return x.h.All[i].End < x.now })
	for _, i := range x.ahead {
		if ev := &x.h.All[i]; ev.End >= must.by {
			more += ev.Cost * x.plan.Per
		}
	}
	return must.forced+more <= must.by*x.plan.N-must.least
}

// admit decides the admission that ends first; ok=false where the limiter denies it, and nothing has changed.
func (x *keepBack) admit(at int64) (ok bool) {
	i := x.order[x.kept[0]]
	ev := &x.h.All[i]
	state, d := x.lim.Step(x.state, time.Duration(at), ev.Cost)
	if !d.Allow || at+int64(d.Delay) > ev.Answer() {
		return false
	}
	x.take(i, state, at, d)
	x.kept = x.kept[1:]
	x.stock -= ev.Cost
	if x.plan == nil {
		x.spent += ev.Cost
		return true
	}
	x.spent += ev.Cost * x.plan.Per
	x.ahead = append(x.ahead, i)
	return true
}

// take notes a decision, and what the limiter remembers after it.
func (x *keepBack) take(i int32, state reference.State, at int64, d reference.Decision) {
	x.since = append(x.since, i)
	x.decided[i], x.state, x.full = true, state, history.Later(at, int64(d.Reset))
}

// settle decides the denials that wait, if the limiter denies the cheapest of them; where it must, if it does
// so after some of the admissions that wait. Else it notes that this would do.
func (x *keepBack) settle(at int64, must bool) {
	for len(x.refused) > 0 {
		_, d := x.lim.Step(x.state, time.Duration(at), x.least)
		switch {
		case !d.Allow:
			x.refuse(at)
			return
		case d.Remaining >= x.stock:
			return
		case !must:
			x.note(at)
			return
		case !x.admit(at):
			return
		}
	}
}

// note notes where it is.
func (x *keepBack) note(at int64) {
	m := &x.last
	m.at, m.stock, m.least, m.full, m.spent = at, x.stock, x.least, x.full, x.spent
	m.begun, m.ended, m.state, m.lost, m.needs = x.i, x.k, x.state, x.lost, x.needs
	m.kept, m.refused = append(m.kept[:0], x.kept...), append(m.refused[:0], x.refused...)
	m.ahead, x.since = append(m.ahead[:0], x.ahead...), x.since[:0]
}

// back goes back to the last instant at which a denial could be decided, and decides it there; ok=false where
// there is none.
func (x *keepBack) back(i int32) (ok bool) {
	m := &x.last
	if x.h.All[i].Outcome != timeline.Denied || m.at < x.begin(i) {
		return false
	}
	x.now, x.stock, x.least, x.full, x.spent = m.at, m.stock, m.least, m.full, m.spent
	x.i, x.k, x.state, x.lost, x.needs = m.begun, m.ended, m.state, m.lost, m.needs
	x.kept, x.refused = append(x.kept[:0], m.kept...), append(x.refused[:0], m.refused...)
	x.ahead = append(x.ahead[:0], m.ahead...)
	for _, j := range x.since {
		x.decided[j] = false
	}
	x.settle(m.at, true)
	m.at, x.since = -1, x.since[:0]
	return x.decided[i]
}

// refuse decides all denials that wait which the limiter denies.
func (x *keepBack) refuse(at int64) {
	wait := x.refused[:0]
	for _, i := range x.refused {
		state, d := x.lim.Step(x.state, time.Duration(at), x.h.All[i].Cost)
		if d.Allow {
			wait = append(wait, i)
			continue
		}
		x.take(i, state, at, d)
	}
	x.refused = wait
}
