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

// overflow says that a bucket must have lost at least `least` by the instant `by`. What it loses is refill
// that comes while it is full, summed since the zero of the clock. forced is what it has admitted by then in
// every explanation. least and forced are in the units of limiter.Bucket.
type overflow struct{ by, least, forced int64 }

// overflowPlan finds what a bucket must lose so that each denial finds it empty. By the time t, admissions of
// begun(t) units have begun and admissions of forced(t) units have ended. Whatever the order of decisions,
//
//	level(t) = B*per + t*n - lost(t) - decided(t)        forced(t) <= decided(t) <= begun(t)
//
// So the loss alone needs to be known. It never decreases:
//
//	an admission that ends at t      lost(t) <= B*per + t*n - forced(t)
//	a denial of cost c in [s, e]     lost(t) >  B*per + t*n - begun(t) - c*per    for some t in [s, e]
//	lost(t) at the least             max over t' <= t of t'*n - begun(t'): a bucket that is full loses all,
//	                                 where no admission waits
//	lost(t) at the most              max over t' <= t of t'*n - forced(t'): all that wait are kept back
//
// The plan is lost(t) at its least. The plan may fail where another would not: the loss before one denial may
// be too little for the next denial, if that follows before the bucket can be full again.
type overflowPlan struct {
	limiter.Bucket
	h *history.History
	// low and high bound lost(now). begun and forced are as above.
	low, high, begun, forced int64
	// full is the earliest instant, times n, at which the bucket can be full again after the last denial.
	full int64
	// cost is the lowest cost of a denial.
	cost int64
	// most tells how much can be lost by which instant. It ascends by time and descends in the loss: an
	// earlier entry with less loss is dropped.
	most []overflow
	// free is the last instant at which a denial finds the bucket empty without more loss than low. empty are
	// the instants at which a denial does so with more loss, ascending by time and by that loss.
	free  int64
	empty []emptied
	// lost is the plan, ascending by time and by loss after tighten.
	lost []overflow
}

// emptied is an instant at which a denial may be decided: high can be lost by then, and overflow must be.
type emptied struct {
	at, high int64
	overflow
}

// steady tells whether overflowPlan applies to a policy: a bucket that starts full, is refilled continuously,
// and is not changed by denials.
func steady(p spec.Policy) bool {
	least, _ := p.StartLevels()
	return p.Bucketed() && p.Refill != spec.RefillInterval && !Counted(spec.Limit{p}) && least == p.Full()
}

// planOverflow makes the plan for the events of h. order has their indices ascending by end. nil: no plan.
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

// pass moves the bounds of the loss on to an instant.
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

// begins takes the start of an event. From then on its units may be what empties the bucket.
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

// ends takes the end of an event. ok=false: there is no plan.
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

// deny plans the decision of denial i. The bucket is empty at that decision, and not full for a while after
// it.
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

// tighten sorts the plan and drops the demands that an earlier, larger one covers. It then demands by each
// instant what could not be lost between that instant and the next demand.
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
