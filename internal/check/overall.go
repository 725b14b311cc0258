package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// overall bounds all admissions of one partition in one sweep, as its observations come: for limiters that a
// span of any length may overload, which no piece shows. It may miss what a whole history shows, and never
// accuses: a sweep uses the formulas of the bound, and forgets only what cannot matter to what is to come.
type overall struct {
	plan *overallPlan
	name string
	// sweep is nil where a breach was found.
	sweep overSweep
	found *alarm
	// block has first `carried` admissions, taken already, that are in flight, and then the events to take;
	// it is taken when it has `full` events.
	block         []event
	carried, full int
	end           time.Duration
	// judged tells that there was something to judge.
	judged bool
	// ended, sorting and order are memory that is used again and again.
	ended, sorting []event
	order          []int32
}

// overallPlan is what the sweeps of all partitions share. It does not change.
type overallPlan struct {
	header timeline.Header
	pol    spec.Policy
	o      Options
	bound  sweptBound
	// edges are those of a recording that began or ended amid traffic, else nil.
	edges *edges
	widen widening
	// block is the least that is taken at once.
	block int
}

// overallBlock is the least that a sweep takes at once.
const overallBlock = 1 << 9

func newOverall(plan *overallPlan, name string) *overall {
	return &overall{plan: plan, name: name, sweep: plan.bound.swept(), full: plan.block}
}

// observe takes the next observation.
func (w *overall) observe(o *timeline.Observation) {
	if w.sweep == nil {
		return
	}
	w.end = max(w.end, o.Sent, o.FirstByte, o.Done)
	ev := newEvent(o, w.plan.widen, maxTime)
	if ev.e == maxTime && ev.outcome == timeline.Allowed {
		ev.outcome = timeline.Unknown
	}
	if w.plan.edges != nil && !w.plan.edges.proves(&ev) {
		return
	}
	w.judged = w.judged || w.plan.edges == nil || ev.outcome != timeline.Unknown
	if w.block = append(w.block, ev); len(w.block) >= w.full {
		w.take(ev.s)
		w.full = max(w.plan.block, 2*len(w.block))
	}
}

// take judges what lies before the horizon: no later observation begins before it.
func (w *overall) take(horizon int64) {
	if w.sweep == nil {
		return
	}
	cut := len(w.block)
	for cut > w.carried && w.block[cut-1].s >= horizon {
		cut--
	}
	fresh := w.block[w.carried:cut]
	if len(fresh) == 0 && horizon < maxTime {
		return
	}
	oldest, ended := horizon, w.ended[:0]
	for i := range cut {
		switch ev := &w.block[i]; {
		case ev.outcome != timeline.Allowed:
		case ev.e < horizon:
			ended = append(ended, *ev)
		default:
			oldest = min(oldest, ev.s)
		}
	}
	w.sortByEnd(ended)
	w.ended = ended
	if w.found = tooDearAmong(ended, w.plan.bound.scope().full); w.found == nil {
		w.found = w.sweep.advance(fresh, ended, oldest, horizon)
	}
	if w.found != nil {
		w.sweep, w.block = nil, nil
		return
	}
	keep := w.block[:0]
	for _, ev := range w.block[:cut] {
		if ev.outcome == timeline.Allowed && ev.e >= horizon {
			keep = append(keep, ev)
		}
	}
	w.carried = len(keep)
	w.block = append(keep, w.block[cut:]...)
}

// sortByEnd sorts events, which are nearly in order, by their ends.
func (w *overall) sortByEnd(evs []event) {
	if slices.IsSortedFunc(evs, func(a, b event) int { return cmp.Compare(a.e, b.e) }) {
		return
	}
	w.order = orderInto(w.order, evs)
	w.sorting = append(w.sorting[:0], evs...)
	for k, i := range w.order {
		evs[k] = w.sorting[i]
	}
}

// finding judges the rest, and returns what was found, of a partition whose observations `each` gives once
// more.
func (w *overall) finding(each func(func(o *timeline.Observation) bool)) *verdict.Finding {
	w.take(maxTime)
	w.sweep, w.block, w.ended, w.sorting = nil, nil, nil, nil
	if w.found == nil {
		return nil
	}
	a, widen := w.found, w.plan.widen
	var obs []timeline.Observation
	each(func(o *timeline.Observation) bool {
		ev := newEvent(o, widen, maxTime)
		if ev.outcome != timeline.Allowed || !o.Answered || ev.e < a.from || ev.e > a.to {
			return ev.s <= a.to
		}
		if len(obs) == 2*mostListed { // the last ones
			obs = append(obs[:0], obs[mostListed:]...)
		}
		obs = append(obs, *o)
		obs[len(obs)-1].Partition = w.name
		return true
	})
	obs = joined(obs, w.placing())
	c := &caseFile{tl: &timeline.Timeline{Header: w.plan.header}, limit: spec.Limit{w.plan.pol}, o: w.plan.o,
		end: int64(w.end)}
	h := newHistory(obs, widen, c.end)
	if w.plan.edges != nil {
		h.all = w.plan.edges.trim(h.all)
		h.split()
	}
	if br := w.plan.bound.over(h); br != nil {
		f := c.finding(&part{name: w.name, obs: obs, histories: []*history{h}}, []*breach{br}, phases{})
		return &f
	}
	return w.numbers(obs)
}

// numbers makes a finding from the numbers of the alarm alone, where those that are listed are not too many.
func (w *overall) numbers(obs []timeline.Observation) *verdict.Finding {
	a, widen := w.found, w.plan.widen
	f := verdict.Finding{Kind: verdict.OverAdmission, Partition: w.name, Seen: a.seen, Bound: a.bound,
		From: time.Duration(a.from + widen.left + widen.drift(a.from)),
		To:   time.Duration(a.to - widen.right - widen.drift(a.to))}
	for _, whole := range []bool{true, false} { // else those that may have been decided since
		if len(f.Observations) > 0 {
			break
		}
		for i := range obs {
			if ev := newEvent(&obs[i], widen, maxTime); ev.s >= a.from || !whole {
				f.Observations = append(f.Observations, obs[i].Seq)
			}
		}
	}
	slices.Sort(f.Observations)
	f.Text = sentence{pol: w.plan.pol, header: w.plan.header, witness: obs, end: w.end}.over(f, &a.breach)
	return &f
}

// placing returns the requests by which it is known where windows begin.
func (w *overall) placing() []timeline.Observation {
	out := make([]timeline.Observation, len(w.found.placing))
	for i, ev := range w.found.placing {
		out[i] = timeline.Observation{Sent: time.Duration(ev.s + w.plan.widen.left),
			FirstByte: time.Duration(ev.e - w.plan.widen.right), Answered: true, Outcome: ev.outcome}
		out[i].Seq, out[i].Partition, out[i].Cost = ev.seq, w.name, ev.cost
	}
	return out
}

// joined returns observations with others, ascending by Sent, each once.
func joined(obs, others []timeline.Observation) []timeline.Observation {
	if len(others) == 0 {
		return obs
	}
	obs = append(obs, others...)
	slices.SortStableFunc(obs, func(a, b timeline.Observation) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Seq, b.Seq))
	})
	return slices.CompactFunc(obs, func(a, b timeline.Observation) bool { return a.Seq == b.Seq })
}
