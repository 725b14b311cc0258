package check

import (
	"runtime"
	"slices"
	"sync"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// part is one partition of a case.
type part struct {
	name string
	obs  []timeline.Observation
	seen facts
	// histories has one history a policy; policies with the same clock share theirs.
	histories []*history
	// joint is what jointly made of them.
	joint    *history
	findings []verdict.Finding
	limited  bool
	search   verdict.Search
	unjudged string
}

// caseFile is a timeline before its judge: its partitions, the policies, and what was found.
type caseFile struct {
	tl *timeline.Timeline
	// limit is what is judged, declared what is measured: lasting of it is the same limit.
	limit, declared spec.Limit

	o     Options
	parts []*part
	// observations is how many there are of all parts, 0 where that is not known.
	observations int
	end          int64
	edges        *edges
	// quick asks for the verdict alone: findings have no witness.
	quick bool
	// boundsOnly leaves out the exact search.
	boundsOnly bool
	// frugal measures on the first observations alone, and gives up early: what is measured is wider.
	frugal bool
	// few is how many boxes of phases are asked, 0 for the usual budget.
	few int
}

func newCase(tl *timeline.Timeline, limit spec.Limit, o Options) *caseFile {
	if len(limit) == 1 && limit[0].Count == spec.CountOwn {
		alone := limit[0]
		alone.Count = spec.CountAdmitted // there is no other policy to deny what it admits
		limit = spec.Limit{alone}
	}
	c := &caseFile{tl: tl, declared: ticked(limit, tl.Header), o: o, end: int64(tl.End())}
	c.limit = lasting(c.declared)
	c.edges = edgesOf(tl.Header, c.limit)
	for _, p := range tl.ByPartition() {
		c.parts = append(c.parts,
			&part{name: p.Partition, obs: p.Observations, seen: factsOf(p.Observations)})
		c.observations += len(p.Observations)
	}
	each(len(c.parts), func(i int) { c.prepare(c.parts[i]) })
	return c
}

// prepare makes the histories of a partition.
func (c *caseFile) prepare(p *part) {
	type kind struct {
		widening
		stay
	}
	made := map[kind]*history{}
	for _, pol := range c.limit {
		w := kind{widen(c.tl.Header, pol.Tick, pol.TickSet), stayOf(pol)}
		if made[w] == nil {
			made[w] = newHistory(p.obs, w.widening, c.end)
			made[w].completions(p.obs, w.widening, w.stay)
			if c.edges != nil {
				made[w].all = c.edges.trim(made[w].all)
				made[w].split()
			}
			if len(made[w].all) == 0 || p.seen.known > 0 && c.edges != nil && !made[w].known() {
				p.unjudged = c.edges.unjudged()
			}
		}
		p.histories = append(p.histories, made[w])
	}
}

// judge fills the findings of every partition.
func (c *caseFile) judge() {
	if len(c.limit) > 1 {
		c.judgeSeveral()
		return
	}
	pol := c.limit[0]
	box, shared := phasesOf(pol, c.tl.Header)
	switch {
	case anchored(pol):
		each(len(c.parts), func(i int) { c.judgeAnchored(c.parts[i]) })
	case shared && box.from != box.to:
		c.judgeGroup(c.parts, box)
	default:
		each(len(c.parts), func(i int) { c.judgeGroup(c.parts[i:i+1], box) })
	}
}

// judgeGroup judges partitions that share one phase of the box.
func (c *caseFile) judgeGroup(parts []*part, box phases) {
	g := &group{}
	for _, p := range parts {
		g.parts = append(g.parts, p.histories[0])
	}
	s := c.newSearch(g)
	found, refuted := s.refute(box)
	denials := slices.ContainsFunc(found, func(r refutation) bool { return r.kind != verdict.OverAdmission })
	if refuted && denials && c.o.Shared { // they prove nothing: perhaps the admissions do alone
		alone := &search{policy: c.limit[0], mode: verdict.UpperBound, group: g}
		if over, ok := alone.refute(box); ok {
			found, denials = over, false
		}
	}
	for _, p := range parts {
		p.limited = s.limited
		p.search = verdict.Search{Visited: s.steps, Cap: visitCap, Capped: s.capped}
	}
	if refuted {
		c.accuse(parts, found, box)
	}
	if refuted && denials && c.o.Shared { // one, perhaps of another partition, is a part of the proof
		for _, p := range parts {
			for i := range p.findings {
				p.findings[i].Kind = verdict.NoExplanation
			}
		}
	}
	if refuted && box.from == box.to && !ranged(c.limit[0]) {
		c.addOtherSide(parts, box)
	}
}

// newSearch returns the search of a group's phases: a short one where only the verdict is asked for.
func (c *caseFile) newSearch(g *group) *search {
	n := 0
	for _, h := range g.parts {
		n += len(h.all)
	}
	s := &search{policy: c.limit[0], mode: c.o.Conformance, group: g, quick: c.boundsOnly, few: c.few}
	s.each, s.most = c.decisions(n), c.share(maxWork, n)
	if c.quick {
		s.each = 0
		s.steps, s.wide = stepBudget-hintSteps, stepBudget-hintWide
	}
	return s
}

// addOtherSide completes the findings where the phase is known: every partition is judged, and one that
// breaks both sides of its limit says so.
func (c *caseFile) addOtherSide(parts []*part, box phases) {
	bd := newBound(c.limit[0], box.from, box.to)
	each(len(parts), func(i int) {
		p := parts[i]
		var both []verdict.Finding
		for _, mode := range []verdict.Conformance{verdict.UpperBound, verdict.LowerBound} {
			if c.o.Conformance != "" && c.o.Conformance != verdict.Exact && c.o.Conformance != mode {
				continue
			}
			if br := judgeOne(p.histories[0], bd, mode); br != nil {
				both = append(both, c.finding(p, []*breach{br}, box))
			}
		}
		if len(both) > 0 { // else what was found is a contradiction between answers
			p.findings = both
		}
	})
}

// each runs f for 0..n-1 on all processors.
func each(n int, f func(i int)) {
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
