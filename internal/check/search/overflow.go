package search

import (
	"cmp"
	"slices"
	"sort"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// overflow says that a bucket must have lost at least `least` by the instant `by`: refill that came while it
// was full, since the zero of the clock. forced is what it has admitted by then in every explanation. Both
// are in the units of limiter.Bucket.
type overflow struct{ by, least, forced int64 }

// overflowPlan finds what a bucket must lose so that each denial finds it empty. Whatever the order of
// decisions, with admissions of `begun` units begun by t and of `forced` units ended,
//
//	level(t) = B*per + t*n - lost(t) - decided(t)        forced(t) <= decided(t) <= begun(t)
//
// so that it is enough to know how much was lost, which never decreases:
//
//	an admission that ends at t      lost(t) <= B*per + t*n - forced(t)
//	a denial of cost c in [s, e]     lost(t) >  B*per + t*n - begun(t) - c*per    for some t in [s, e]
//	lost(t) at the least             max over t' <= t of t'*n - begun(t'): a bucket that is full loses all,
//	                                 where no admission waits
//	lost(t) at the most              max over t' <= t of t'*n - forced(t'): all that wait are kept back
//
// The plan is lost(t) at its least. It may miss one: what it loses before one denial may be too little for
// the next, which follows before the bucket can be full again.
type overflowPlan struct {
	limiter.Bucket
	h *history.History
	// low and high bound what is lost by now; begun and forced as above.
	low, high, begun, forced int64
	// full is the earliest instant, times n, at which the bucket is full after a denial.
	full int64
	// cost is the lowest cost of a denial.
	cost int64
	// most tells how much could be lost by when, ascending by time and descending in size: of instants of
	// which a later one allows for more, the later one.
	most []overflow
	// free is the last instant at which a denial found the bucket empty with no loss but the least; empty
	// are those at which one would with more, ascending by time and in what must be lost.
	free  int64
	empty []emptied
	// lost is the plan, ascending in both.
	lost []overflow
}

// emptied is an instant at which a denial may be decided, what could be lost by then, and what must be.
type emptied struct {
	at, high int64
	overflow
}

// steady tells whether a policy is a bucket that is created full, refilled steadily, and left alone by
// denials.
func steady(p spec.Policy) bool {
	least, _ := p.StartLevels()
	return p.Bucketed() && p.Refill != spec.RefillInterval && !Counted(spec.Limit{p}) && least == p.Full()
}

// planOverflow makes the plan for the events of h, which order has ascending by end; nil where there is none.
func planOverflow(h *history.History, p spec.Policy, order []int32) *overflowPlan {
	all := h.All
	x := &overflowPlan{Bucket: limiter.NewBucket(p), h: h, cost: history.MaxTime}
	var units, end int64
	for i := range all {
		if units += all[i].Cost; all[i].Outcome != timeline.Unknown {
			end = max(end, all[i].End)
		}
		if all[i].Outcome == timeline.Denied {
			x.cost = min(x.cost, all[i].Cost)
		}
	}
	if !x.Fits(end, units) {
		return nil
	}
	x.low = (all[0].Start + h.Lag) * x.N
	x.high = x.low
	for i, k := 0, 0; k < len(all); {
		switch {
		case i < len(all) && all[i].Start+h.Lag <= all[order[k]].End:
			x.begins(&all[i])
			i++
		case x.ends(order[k]):
			k++
		default:
			return nil
		}
	}
	x.tighten()
	return x
}

// pass takes what may have been lost up to an instant.
func (x *overflowPlan) pass(at int64) {
	if x.low = max(x.low, at*x.N-x.begun); at*x.N < x.full {
		return
	}
	most := at*x.N - x.forced
	x.high = max(x.high, most)
	for len(x.most) > 0 && x.most[len(x.most)-1].least <= most {
		x.most = x.most[:len(x.most)-1]
	}
	x.most = append(x.most, overflow{at, most, x.forced})
}

// begins takes the beginning of an event, when more admissions than before may empty the bucket.
func (x *overflowPlan) begins(ev *history.Event) {
	at := ev.Start + x.h.Lag
	x.pass(at)
	if ev.Outcome == timeline.Allowed {
		x.begun += ev.Cost * x.Per
	}
	must := x.Burst*x.Per + at*x.N - x.begun - x.cost*x.Per + 1
	last := sort.Search(len(x.most), func(k int) bool { return x.most[k].least < must }) - 1
	switch {
	case must <= x.low:
		x.free = at
	case must <= x.high && last >= 0:
		for len(x.empty) > 0 && x.empty[len(x.empty)-1].least >= must {
			x.empty = x.empty[:len(x.empty)-1]
		}
		x.empty = append(x.empty, emptied{at, x.high, overflow{x.most[last].by, must, x.most[last].forced}})
	}
}

// ends takes the end of an event; ok=false where there is no plan.
func (x *overflowPlan) ends(i int32) (ok bool) {
	ev := &x.h.All[i]
	if ev.Outcome == timeline.Unknown { // taken never to have arrived
		return true
	}
	x.pass(ev.End)
	switch ev.Outcome {
	case timeline.Allowed:
		x.forced += ev.Cost * x.Per
		x.high = min(x.high, x.Burst*x.Per+ev.End*x.N-x.forced)
	case timeline.Denied:
		return x.deny(i)
	}
	return x.low <= x.high
}

// deny plans the decision of a denial, after which the bucket is not full for a while.
func (x *overflowPlan) deny(i int32) (ok bool) {
	begin := x.h.All[i].Start + x.h.Lag
	due := x.free
	if due < begin {
		k := sort.Search(len(x.empty), func(k int) bool { return x.empty[k].at >= begin })
		if k == len(x.empty) {
			return false
		}
		e := x.empty[k]
		due, x.low, x.lost = e.at, max(x.low, e.least), append(x.lost, e.overflow)
		x.high = min(x.high, max(e.high, e.least))
	}
	x.full = max(x.full, due*x.N+x.Burst*x.Per)
	late := func(l overflow) bool { return l.by > due && l.by*x.N < x.full }
	x.most = slices.DeleteFunc(x.most, late)
	x.empty = slices.DeleteFunc(x.empty, func(e emptied) bool { return late(e.overflow) })
	return x.low <= x.high
}

// tighten orders the plan, drops what more by an earlier instant makes needless, and demands by each instant
// what could not be lost after it.
func (x *overflowPlan) tighten() {
	slices.SortFunc(x.lost, func(a, b overflow) int {
		return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(b.least, a.least))
	})
	most := history.MinTime
	x.lost = slices.DeleteFunc(x.lost, func(l overflow) bool {
		needless := l.least <= most
		most = max(most, l.least)
		return needless
	})
	for i := len(x.lost) - 2; i >= 0; i-- {
		next := x.lost[i+1]
		x.lost[i].least = max(x.lost[i].least, next.least-(next.by-x.lost[i].by)*x.N)
	}
}
