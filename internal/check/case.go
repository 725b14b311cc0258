package check

import (
	"runtime"
	"slices"
	"sync"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Part is one partition of a case.
type Part struct {
	history.Partition
	// Histories has one history for each policy. Policies that read the clock alike and hold requests equally
	// long share one.
	Histories []*history.History
	// joint is the result of Jointly, nil until it is called.
	joint    *history.History
	Findings []result.Finding
	Limited  bool
	Search   result.Search
	// bounded is how many observations the bounds judged in the search for a phase.
	bounded  int
	Unjudged string
}

// Case is a recording to be judged: its partitions, the policies, and the findings so far.
type Case struct {
	Rec *history.Recording
	// Limit is what is judged, declared is what is measured. Limit is Lasting(declared), which admits the
	// same.
	Limit, declared spec.Limit

	O     Options
	Parts []*Part
	// Observations is the number of observations of the whole recording, 0 where that is not known.
	Observations int
	End          int64
	Edges        *history.Edges
	// Quick asks for the verdict alone: findings have no witness.
	Quick bool
	// BoundsOnly leaves out the exact search.
	BoundsOnly bool
	// Frugal measures on the first observations alone and gives up early. The measured intervals are then
	// wider.
	Frugal bool
	// Few is how many boxes of phases are asked, 0 for the usual budget.
	Few int
	// ask, unless nil, looks for no breach: a finding then says only that there is one.
	ask *limiter.Scratch
	// work is how many decisions the exact searches may try, 0 for the usual budget.
	work int
}

// NewCase returns the case of a recording.
func NewCase(rec *history.Recording, limit spec.Limit, o Options) *Case {
	if len(limit) == 1 && limit[0].Count == spec.CountOwn {
		alone := limit[0]
		alone.Count = spec.CountAdmitted // there is no other policy to deny what it admits
		limit = spec.Limit{alone}
	}
	if limit.Cleared() {
		rec = livesOf(rec, limit[0])
	}
	c := &Case{Rec: rec, declared: limiter.Ticked(limit, rec.Header), O: o, End: int64(rec.Header.Ended)}
	c.Limit = limiter.Lasting(c.declared)
	c.Edges = limiter.EdgesOf(rec.Header, c.Limit)
	for _, p := range rec.Parts {
		c.Parts = append(c.Parts, &Part{Partition: p})
	}
	Each(len(c.Parts), func(i int) { c.prepare(c.Parts[i]) })
	c.Observations = rec.Len()
	return c
}

// livesOf divides each partition of a recording at the successes that clear its count.
func livesOf(rec *history.Recording, p spec.Policy) *history.Recording {
	out := &history.Recording{Header: rec.Header}
	for _, part := range rec.Parts {
		out.Parts = append(out.Parts, part.Lives(p, rec.Header)...)
	}
	return out
}

// prepare makes the histories of a partition.
func (c *Case) prepare(p *Part) {
	type kind struct {
		history.Widening
		history.Stay
	}
	made := map[kind]*history.History{}
	for _, pol := range c.Limit {
		w := kind{history.Widen(c.Rec.Header, pol.Tick, pol.TickSet).On(pol, c.Rec.Header),
			history.StayOf(pol)}
		if made[w] == nil {
			made[w] = c.Edges.History(p.Obs, w.Widening, c.End, w.Stay)
			if len(made[w].All) == 0 || p.Seen.Known > 0 && c.Edges != nil && !made[w].Known() {
				p.Unjudged = c.Edges.Unjudged()
			}
		}
		p.Histories = append(p.Histories, made[w])
	}
}

// Judge fills the findings of every partition.
func (c *Case) Judge() {
	if len(c.Limit) > 1 {
		c.judgeSeveral()
		return
	}
	pol := c.Limit[0]
	box, shared := PhasesOf(pol, c.Rec.Header)
	switch {
	case limiter.Anchored(pol):
		Each(len(c.Parts), func(i int) { c.judgeAnchored(c.Parts[i]) })
	case shared && box.From != box.To:
		c.judgeGroup(c.Parts, box)
	default:
		Each(len(c.Parts), func(i int) { c.judgeGroup(c.Parts[i:i+1], box) })
	}
}

// judgeGroup judges partitions that share one phase. The phase lies in the box.
func (c *Case) judgeGroup(parts []*Part, box history.Interval) {
	g := &Group{}
	for _, p := range parts {
		g.Parts = append(g.Parts, p.Histories[0])
	}
	s := c.NewSearch(g)
	found, refuted := s.Refute(box)
	denials := slices.ContainsFunc(found, func(r Refutation) bool { return r.Kind != result.OverAdmission })
	// A denial proves nothing here, but the admissions may prove it alone.
	if refuted && denials && c.O.Shared {
		alone := &PhaseSearch{Policy: c.Limit[0], Mode: result.UpperBound, Group: g}
		if over, ok := alone.Refute(box); ok {
			found, denials = over, false
		}
	}
	for _, p := range parts {
		p.bounded = s.Bounded
		p.Limited = s.Limited
		p.Search = result.Search{Visited: s.Steps, Cap: search.VisitCap, Capped: s.Capped}
	}
	if !refuted {
		return
	}
	if c.ask != nil {
		parts[0].Findings = make([]result.Finding, 1)
		return
	}
	if c.accuse(parts, found, box); denials && c.O.Shared {
		unexplained(parts)
	}
	if box.From == box.To && !limiter.Ranged(c.Limit[0]) {
		c.addOtherSide(parts, box)
	}
}

// unexplained changes the kind of all findings: a denial, perhaps of another partition, is part of the proof.
func unexplained(parts []*Part) {
	for _, p := range parts {
		for i := range p.Findings {
			p.Findings[i].Kind = result.NoExplanation
		}
	}
}

// NewSearch returns the search for a phase of the group. It is a short one if only the verdict is asked for.
func (c *Case) NewSearch(g *Group) *PhaseSearch {
	n := 0
	for _, h := range g.Parts {
		n += len(h.All)
	}
	s := &PhaseSearch{Policy: c.Limit[0], Mode: c.O.Conformance, Group: g, Quick: c.BoundsOnly, Few: c.Few,
		Rough: c.Quick, Scratch: c.ask}
	s.Each, s.Most = c.decisions(n), c.bounded(n)
	if c.Quick && c.work == 0 {
		s.Each = 0
		s.Steps, s.Wide = StepBudget-HintSteps, StepBudget-HintWide
	}
	return s
}

// addOtherSide completes the findings where the phase is known. It judges every partition on both sides of
// its limit, and tells of both that are broken.
func (c *Case) addOtherSide(parts []*Part, box history.Interval) {
	bd := limiter.NewBound(c.Limit[0], box.From, box.To)
	Each(len(parts), func(i int) {
		p := parts[i]
		var both []result.Finding
		for _, mode := range []result.Conformance{result.UpperBound, result.LowerBound} {
			if c.O.Conformance != "" && c.O.Conformance != result.Exact && c.O.Conformance != mode {
				continue
			}
			if br := JudgeOne(p.Histories[0], bd, mode); br != nil {
				both = append(both, c.Finding(p, []*limiter.Breach{br}, box))
			}
		}
		if len(both) > 0 { // otherwise the finding is a contradiction between answers
			p.Findings = both
		}
	})
}

// Each runs f for 0..n-1 on all processors.
func Each(n int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	next := make(chan int, workers)
	for range workers {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
