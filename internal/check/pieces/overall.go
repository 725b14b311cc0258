package pieces

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/judge"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/witness"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// overall bounds all admissions of one partition in one sweep, as its observations come. It is for limiters
// that a span of any length may overload, which no piece shows. It may miss what a whole history shows. It
// never accuses wrongly: the sweep uses the formulas of the bound, and forgets only what cannot matter to
// later requests.
type overall struct {
	plan *overallPlan
	name string
	// sweep is nil after a breach was found.
	sweep limiter.Sweep
	found *limiter.Alarm
	// block holds the events that are not done: first `carried` admissions in flight that the sweep has taken
	// already, then the events that it has not. It is taken when it has `full` events.
	block         []history.Event
	carried, full int
	end           time.Duration
	// judged: there was something to judge.
	judged bool
	// ended and byEnd are memory that each block uses again.
	ended []history.Event
	byEnd []int32
}

// overallPlan is what the sweeps of all partitions share. It does not change.
type overallPlan struct {
	header timeline.Header
	pol    spec.Policy
	o      judge.Options
	bound  limiter.Sweeping
	// edges are those of a recording that began or ended amid traffic, otherwise nil.
	edges *history.Edges
	widen history.Widening
	// block is the least number of events that a sweep takes at once.
	block int
}

// overallBlock is the usual overallPlan.block.
const overallBlock = 1 << 9

func newOverall(plan *overallPlan, name string) *overall {
	return &overall{plan: plan, name: name, sweep: plan.bound.Sweep(), full: plan.block}
}

// observe takes the next observation.
func (w *overall) observe(o *history.Observation) {
	if w.sweep == nil {
		return
	}
	w.end = max(w.end, o.Sent, o.FirstByte, o.Done)
	ev := history.NewEvent(o, w.plan.widen, history.MaxTime)
	if ev.End == history.MaxTime && ev.Outcome == timeline.Allowed {
		ev.Outcome = timeline.Unknown
	}
	if w.plan.edges != nil && !w.plan.edges.Proves(&ev) {
		return
	}
	w.judged = w.judged || w.plan.edges == nil || ev.Outcome != timeline.Unknown
	if w.block = append(w.block, ev); len(w.block) >= w.full {
		w.take(ev.Start)
		w.full = max(w.plan.block, 2*len(w.block))
	}
}

// take gives the sweep the events before the horizon. No later observation begins before it.
func (w *overall) take(horizon int64) {
	if w.sweep == nil {
		return
	}
	cut := len(w.block)
	for cut > w.carried && w.block[cut-1].Start >= horizon {
		cut--
	}
	fresh := w.block[w.carried:cut]
	if len(fresh) == 0 && horizon < history.MaxTime {
		return
	}
	oldest, ended := horizon, w.ended[:0]
	for i := range cut {
		switch ev := &w.block[i]; {
		case ev.Outcome != timeline.Allowed:
		case ev.End < horizon:
			ended = append(ended, *ev)
		default:
			oldest = min(oldest, ev.Start)
		}
	}
	w.ended, w.byEnd = ended, history.OrderInto(w.byEnd, ended)
	block := limiter.Block{Begun: fresh, Ended: ended, ByEnd: w.byEnd, Oldest: oldest, Horizon: horizon}
	if w.found = limiter.TooDear(ended, w.plan.bound.Scope().Full); w.found == nil {
		w.found = w.sweep.Take(block)
	}
	if w.found != nil {
		w.sweep, w.block = nil, nil
		return
	}
	keep := w.block[:0]
	for _, ev := range w.block[:cut] {
		if ev.Outcome == timeline.Allowed && ev.End >= horizon {
			keep = append(keep, ev)
		}
	}
	w.carried = len(keep)
	w.block = append(keep, w.block[cut:]...)
}

// finding judges the rest and returns what was found, or nil. each gives the observations of the partition
// once more.
func (w *overall) finding(each func(func(o *history.Observation) bool)) *verdict.Finding {
	w.take(history.MaxTime)
	w.sweep, w.block, w.ended, w.byEnd = nil, nil, nil, nil
	if w.found == nil {
		return nil
	}
	a, widen := w.found, w.plan.widen
	var obs []history.Observation
	each(func(o *history.Observation) bool {
		ev := history.NewEvent(o, widen, history.MaxTime)
		if ev.Outcome != timeline.Allowed || !o.Answered || ev.End < a.From || ev.End > a.To {
			return ev.Start <= a.To
		}
		if len(obs) == 2*limiter.MostListed { // only the last ones
			obs = append(obs[:0], obs[limiter.MostListed:]...)
		}
		obs = append(obs, *o)
		return true
	})
	obs = joined(obs, w.placing())
	c := &judge.Case{Tl: &timeline.Timeline{Header: w.plan.header}, Limit: spec.Limit{w.plan.pol},
		O:   w.plan.o,
		End: int64(w.end)}
	h := w.plan.edges.History(obs, widen, c.End)
	if br := w.plan.bound.Over(h); br != nil {
		f := c.Finding(&judge.Part{Name: w.name, Obs: obs, Histories: []*history.History{h}},
			[]*limiter.Breach{br}, history.Interval{})
		return &f
	}
	return w.numbers(obs)
}

// numbers makes a finding from the numbers of the alarm alone. It lists the admissions inside the span if
// they are few, otherwise those that may have been decided in it.
func (w *overall) numbers(obs []history.Observation) *verdict.Finding {
	a, widen := w.found, w.plan.widen
	f := verdict.Finding{Kind: verdict.OverAdmission, Partition: w.name, Seen: a.Seen, Bound: a.Bound,
		From: time.Duration(a.From + widen.Left + widen.Drift(a.From)),
		To:   time.Duration(a.To - widen.Right - widen.Drift(a.To))}
	for _, whole := range []bool{true, false} { // otherwise those that may have been decided in it
		if len(f.Observations) > 0 {
			break
		}
		for i := range obs {
			if ev := history.NewEvent(&obs[i], widen, history.MaxTime); ev.Start >= a.From || !whole {
				f.Observations = append(f.Observations, obs[i].Seq)
			}
		}
	}
	slices.Sort(f.Observations)
	f.Text = witness.Sentence{Pol: w.plan.pol, Header: w.plan.header, Witness: obs, End: w.end}.Over(f,
		&a.Breach)
	return &f
}

// placing returns the requests that show where windows begin.
func (w *overall) placing() []history.Observation {
	out := make([]history.Observation, len(w.found.Placing))
	for i, ev := range w.found.Placing {
		out[i] = history.Observation{Sent: time.Duration(ev.Start + w.plan.widen.Left),
			FirstByte: time.Duration(ev.End - w.plan.widen.Right), Answered: true, Outcome: ev.Outcome}
		out[i].Seq, out[i].Cost = ev.Seq, ev.Cost
	}
	return out
}

// joined returns the observations of both, ascending by Sent, each once.
func joined(obs, others []history.Observation) []history.Observation {
	if len(others) == 0 {
		return obs
	}
	obs = append(obs, others...)
	slices.SortStableFunc(obs, func(a, b history.Observation) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Seq, b.Seq))
	})
	return slices.CompactFunc(obs, func(a, b history.Observation) bool { return a.Seq == b.Seq })
}
