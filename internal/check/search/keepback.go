package search

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// keepBack builds one explanation of a history, forward in time. Each admission is delayed to the end of its
// interval; the delayed admissions are decided in the order of their ends. A denial needs an exhausted
// limiter. So at the last instant at which the delayed admissions can exhaust the limiter they are decided
// early, and the waiting denials right after them:
//
//	admission  [-------------------]           decided at x, not at its end
//	admission      [----------------------]    decided at x
//	denial           [---------]               decided at x: the limiter is exhausted
//	                           x               the last instant at which the denial can be decided
//
// The reference limiter gives each decision, so what is built is an explanation.
type keepBack struct {
	h     *history.History
	lim   reference.Limiter
	state reference.State
	// order are the indices of the events, ascending by end. rank is the position of each event in order.
	order, rank []int32
	// kept are the ranks of the delayed admissions, ascending. stock is the sum of their costs.
	kept  []int32
	stock int64
	// refused are the indices of the waiting denials. least is the lowest of their costs.
	refused []int32
	least   int64
	decided []bool
	// last is the last instant at which the waiting denials could be decided. since are the indices of the
	// events that were decided after last.
	last  mark
	since []int32
	// thrifty: a delayed admission is decided just before the limiter is full. A full limiter gains no room
	// by waiting longer.
	thrifty bool
	// full is the instant at which the limiter is full, its state as at the start. MaxTime: not known. early
	// is how long before full an admission must come to be charged to the old state. now is when the last
	// event began or ended. All three are nanoseconds.
	full, early, now int64
	// i is how many events have begun, k how many have ended.
	i, k int
	// plan says what a bucket must lose by overflow; nil for any other limiter. lost is the part of the plan
	// that is still ahead. spent is what was admitted: in the units of limiter.Bucket with a plan, else in
	// quota units.
	plan  *overflowPlan
	lost  []overflow
	spent int64
	// planned says by when admissions are due; see planDue. dues is the part still ahead. opens: requests
	// open windows.
	planned, dues []due
	opens         bool
	// ahead are the indices of the admissions that were decided before their ends.
	ahead []int32
}

// mark is the state of a keepBack at an instant, for back. begun events had begun and ended events had ended.
type mark struct {
	at, stock, least, full, spent int64
	begun, ended                  int
	dues                          []due
	state                         reference.State
	kept, refused, ahead          []int32
	lost                          []overflow
}

// keptBack tells whether keepBack explains h under the limiter of a limit with the phases at. False: not
// known. Cost: O(n log n).
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
	p := limit[0]
	if p.HasWindow() {
		x.early = 1
	}
	if steady(p) {
		x.plan = planOverflow(h, p, x.order)
		return x.plan != nil && x.explains(true)
	}
	if planned(p) {
		x.planned, x.opens = planDue(h, p, at[0], x.order), p.Align == spec.AlignFirst
		return x.explains(false)
	}
	return x.explains(true) || x.explains(false)
}

// begin returns the earliest instant of the decision on event i, by a clock that never stands still.
func (x *keepBack) begin(i int32) int64 { return x.h.All[i].Start + x.h.Lag }

// explains goes through the history once. It tells whether every event got a decision.
func (x *keepBack) explains(thrifty bool) bool {
	x.state, x.thrifty, x.full = x.lim.Init(), thrifty, history.MaxTime
	x.kept, x.refused, x.stock, x.spent, x.now = x.kept[:0], x.refused[:0], 0, 0, 0
	clear(x.decided)
	if x.plan != nil {
		x.lost, x.ahead, x.full = x.plan.lost, x.ahead[:0], x.begin(0)
	}
	if x.opens {
		x.full = x.begin(0)
	}
	x.last.at, x.since, x.dues = -1, x.since[:0], x.planned
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

// begins takes the start of event i. The event waits from then on.
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

// ends takes the end of event i, by which it must be decided. ok=false: the limiter gives the other answer.
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

// spend decides the delayed admissions that cannot or should not wait until before. A window needs some of
// them before it ends (dues). If thrifty, others use the room of a limiter that is about to be full.
func (x *keepBack) spend(before int64) {
	for ; len(x.dues) > 0; x.dues = x.dues[1:] {
		by := max(x.dues[0].by, x.now)
		if x.opens && x.full > by {
			by = x.full - 1 // in the window that is open then
		}
		if by >= before {
			break
		}
		for x.spent < x.dues[0].least && len(x.kept) > 0 && x.admit(by) {
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

// overflown returns an instant from at on: the bucket, full at `at`, stays full until then. So it loses what
// the plan demands before the next admission.
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

// later tells whether the bucket can lose `must` later, if it gives `more` units now to admissions that could
// wait.
func (x *keepBack) later(must overflow, more int64) bool {
	x.ahead = slices.DeleteFunc(x.ahead, func(i int32) bool { return x.h.All[i].End < x.now })
	for _, i := range x.ahead {
		if ev := &x.h.All[i]; ev.End >= must.by {
			more += ev.Cost * x.plan.Per
		}
	}
	return must.forced+more <= must.by*x.plan.N-must.least
}

// admit decides the delayed admission that ends first. ok=false: the limiter denies it, and nothing has
// changed.
func (x *keepBack) admit(at int64) (ok bool) {
	i := x.order[x.kept[0]]
	ev := &x.h.All[i]
	state, d := x.lim.Step(x.state, time.Duration(at), ev.Cost)
	if !d.Allow || at+int64(d.Delay) > ev.End {
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

// take records the decision on event i and the state of the limiter after it.
func (x *keepBack) take(i int32, state reference.State, at int64, d reference.Decision) {
	x.since = append(x.since, i)
	x.decided[i], x.state, x.full = true, state, history.Later(at, int64(d.Reset))
}

// settle decides the waiting denials if the limiter denies the cheapest of them now. Otherwise the delayed
// admissions may exhaust the limiter. With must they are decided first, as many as are needed. Without must
// the instant is noted.
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

// note records the present instant and state, for back.
func (x *keepBack) note(at int64) {
	m := &x.last
	m.at, m.stock, m.least, m.full, m.spent = at, x.stock, x.least, x.full, x.spent
	m.begun, m.ended, m.state, m.lost, m.dues = x.i, x.k, x.state, x.lost, x.dues
	m.kept, m.refused = append(m.kept[:0], x.kept...), append(m.refused[:0], x.refused...)
	m.ahead, x.since = append(m.ahead[:0], x.ahead...), x.since[:0]
}

// back returns to the noted instant and decides the waiting denials there. ok=false: no instant is noted, or
// event i is no denial that had been sent by then.
func (x *keepBack) back(i int32) (ok bool) {
	m := &x.last
	if x.h.All[i].Outcome != timeline.Denied || m.at < x.begin(i) {
		return false
	}
	x.now, x.stock, x.least, x.full, x.spent = m.at, m.stock, m.least, m.full, m.spent
	x.i, x.k, x.state, x.lost, x.dues = m.begun, m.ended, m.state, m.lost, m.dues
	x.kept, x.refused = append(x.kept[:0], m.kept...), append(x.refused[:0], m.refused...)
	x.ahead = append(x.ahead[:0], m.ahead...)
	for _, j := range x.since {
		x.decided[j] = false
	}
	x.settle(m.at, true)
	m.at, x.since = -1, x.since[:0]
	return x.decided[i]
}

// refuse decides those waiting denials that the limiter denies at an instant.
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
