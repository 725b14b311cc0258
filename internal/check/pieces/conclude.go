package pieces

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/judge"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/phases"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// remember keeps the requests of a breach, at most keptWitness of all breaches.
func (x *Pieces) remember(pc *excerpt, br *limiter.Breach) {
	if x.kept == nil {
		x.kept = map[int]witnessed{}
	}
	fresh := map[int]history.Event{}
	for _, ev := range br.Events {
		if _, ok := x.kept[ev.Seq]; !ok && len(x.kept)+len(fresh) < keptWitness {
			fresh[ev.Seq] = ev
		}
	}
	if len(fresh) == 0 {
		return
	}
	for i := range pc.p.Obs {
		if ev, ok := fresh[pc.p.Obs[i].Seq]; ok {
			x.kept[ev.Seq] = witnessed{pc.p.Obs[i], ev}
		}
	}
}

// largeWitness is the largest witness that is made smaller.
const largeWitness = 1 << 12

// Conclude fills the findings of a partition: those of its pieces, or its part of what refuted every region.
func (x *Pieces) Conclude(c *judge.Case, p *judge.Part) {
	p.Findings, p.Limited = x.Found, x.left.limited && !x.left.refuted() && len(x.Found) == 0
	p.Search, p.Unjudged = x.searched(), x.unjudged()
	mine := x.mine()
	switch {
	case x.upper != nil && x.upper.fails():
		x.upper.Conclude(c, p)
		return
	case x.stretches != nil && len(mine) == 0 && x.judged:
		p.Unjudged, p.Limited = x.stretches.unsure, p.Limited || x.stretches.limited
		return
	case !x.left.refuted(), len(mine) == 0, len(x.Found) > 0 && len(c.Limit) > 1:
		return
	}
	alone := x.witnessPart(len(c.Limit))
	f := x.finding(c, alone, mine)
	if c.O.Shared && slices.ContainsFunc(x.left.found,
		func(f fallen) bool { return f.Kind != verdict.OverAdmission }) {
		f.Kind = verdict.NoExplanation // a denial, perhaps of another partition, is part of the proof
	}
	p.Findings = append(p.Findings, f)
}

// searched returns how much the exact searches tried.
func (x *Pieces) searched() verdict.Search {
	if x.left.steps == 0 {
		return verdict.Search{}
	}
	return verdict.Search{Visited: x.left.steps, Cap: search.VisitCap,
		Capped: x.left.steps >= phases.StepBudget}
}

// unjudged says why the partition, or the rest of it, is not judged. Empty: it is judged.
func (x *Pieces) unjudged() string {
	switch {
	case !x.judged:
		return x.plan.C.Edges.Unjudged()
	case x.lapsed:
		return judge.UnsureForgotten
	}
	return ""
}

// mine returns the breaches of this partition among those that refuted a region.
func (x *Pieces) mine() (mine []*limiter.Breach) {
	for _, f := range x.left.found {
		if f.by == x {
			mine = append(mine, f.Breach)
		}
	}
	return mine
}

// witnessPart returns the partition with only the requests that were kept for a witness. It has a history for
// each of n policies.
func (x *Pieces) witnessPart(n int) *judge.Part {
	alone := &judge.Part{Name: x.name}
	var events []history.Event
	for _, seq := range slices.Sorted(maps.Keys(x.kept)) {
		alone.Obs = append(alone.Obs, x.kept[seq].Observation)
		events = append(events, x.kept[seq].Event)
	}
	alone.Obs, events = x.placing(alone.Obs, events)
	slices.SortStableFunc(alone.Obs,
		func(a, b history.Observation) int { return cmp.Compare(a.Sent, b.Sent) })
	h := history.Of(events)
	h.Lag = x.plan.kinds[0].Tick
	for range n {
		alone.Histories = append(alone.Histories, h)
	}
	return alone
}

// fails tells whether something was found.
func (x *Pieces) fails() bool {
	return len(x.Found) > 0 || x.left.refuted() &&
		slices.ContainsFunc(x.left.found, func(f fallen) bool { return f.by == x })
}

// finding makes the finding of the breaches that refuted every region, perhaps together with those of other
// partitions. alone has the requests that were kept of this partition, mine its breaches.
func (x *Pieces) finding(c *judge.Case, alone *judge.Part, mine []*limiter.Breach) verdict.Finding {
	events, box := alone.Histories[0].All, x.plan.Whole.boxes[0]
	if x.stretches != nil {
		box = x.stretches.whole.boxes[0]
	}
	others := map[*Pieces]bool{}
	for _, f := range x.left.found {
		others[f.by] = true
	}
	switch {
	case len(c.Limit) > 1:
		one := &limiter.Breach{Kind: verdict.NoExplanation, Events: events, Span: limiter.SpanOf(events),
			Open: len(mine) > 1}
		return c.Describe(alone, []*limiter.Breach{one}, events, c.Limit[0], box, 0)
	case len(others) > 1 || len(events) > largeWitness:
		return c.Describe(alone, mine, events, c.Limit[0], box, len(others)-1)
	}
	return c.Finding(alone, mine, box)
}
