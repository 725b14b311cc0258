package judge

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/phases"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/check/witness"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// judgeSeveral judges all partitions under several policies that must all admit: first by the bounds of each,
// with its phases open as a whole; where they find nothing, by a search of the phases of all policies with
// the exact search of all together.
func (c *Case) judgeSeveral() {
	Each(len(c.Parts), func(i int) { c.BoundSeveral(c.Parts[i]) })
	if c.BoundsOnly || c.O.Conformance != "" && c.O.Conformance != verdict.Exact {
		return
	}
	groups := [][]*Part{c.Parts}
	if !c.sharedPhases() {
		groups = nil
		for i := range c.Parts {
			groups = append(groups, c.Parts[i:i+1])
		}
	}
	Each(len(groups), func(i int) {
		if !slices.ContainsFunc(groups[i], func(p *Part) bool { return len(p.Findings) > 0 }) {
			c.searchSeveral(groups[i])
		}
	})
}

// sharedPhases tells whether some phase is open, and all that are, are the same in all partitions.
func (c *Case) sharedPhases() bool {
	open := false
	for _, pol := range c.Limit {
		box, shared := phases.Of(pol, c.Tl.Header)
		if box.From != box.To && !shared {
			return false
		}
		open = open || box.From != box.To
	}
	return open
}

// BoundSeveral judges a partition by the bounds: each policy bounds the admissions alone, and a denial needs
// one policy that can explain it.
func (c *Case) BoundSeveral(p *Part) {
	for i, pol := range c.Limit {
		open, box := c.opened(pol)
		if br := limiter.NewBoundAmong(open, box.From, box.To).Over(p.Histories[i]); br != nil &&
			c.O.Conformance != verdict.LowerBound {
			p.Findings = append(p.Findings, c.severalBound(p, br, pol, box))
		}
	}
	if c.O.Conformance == verdict.UpperBound {
		return
	}
	unexplained := c.unexplainedSeveral(p.Histories, -1, nil)
	if len(unexplained) == 0 {
		return
	}
	last := len(c.Limit) - 1
	limit, boxes := slices.Clone(c.Limit), make([]history.Interval, len(c.Limit))
	for i := range limit {
		limit[i], boxes[i] = c.opened(limit[i])
	}
	br := limiter.UnderBreach(p.Histories[last],
		limiter.NewBoundAmong(limit[last], boxes[last].From, boxes[last].To),
		p.Histories[last].Denial(unexplained[0]))
	br.Events = c.underSeveral(p.Histories, boxes, unexplained[0]).Events
	p.Findings = append(p.Findings, c.severalBound(p, br, c.Limit[last], boxes[last]))
}

// severalBound makes a finding of what the bound of one of several policies found.
func (c *Case) severalBound(p *Part, br *limiter.Breach, pol spec.Policy,
	box history.Interval) verdict.Finding {
	if c.Quick {
		return verdict.Finding{Kind: br.Kind}
	}
	return c.Describe(p, []*limiter.Breach{br}, c.complete(p, br), pol, box, 0)
}

// complete returns the events of a breach and what they cannot be judged without: the requests that place its
// windows, or that created its bucket.
func (c *Case) complete(p *Part, br *limiter.Breach) []history.Event {
	if slices.ContainsFunc(c.Limit, limiter.Anchored) {
		return witness.EventsOf([]*limiter.Breach{br})
	}
	joint, named := c.Jointly(p), br.Events
	if br.Creator != nil {
		named = append(slices.Clone(named), *br.Creator)
	}
	events := joint.These(named)
	if c.severalProof(p).Refute(events) == nil {
		return joint.Before(history.LastEnd(events)).All
	}
	return events
}

// opened returns the box of phases that is open for a policy, and the policy as it is bounded over them.
func (c *Case) opened(pol spec.Policy) (spec.Policy, history.Interval) {
	if limiter.Anchored(pol) {
		pol.Align = spec.AlignUnknown
		return pol, history.Interval{From: 0, To: int64(pol.LongestWindow()) - 1}
	}
	box, _ := phases.Of(pol, c.Tl.Header)
	return pol, box
}

// boundOf returns the bound of a policy for a box of its phases: for all of them where the first counted
// request places its windows.
func (c *Case) boundOf(pol spec.Policy, box history.Interval) limiter.Bound {
	if limiter.Anchored(pol) {
		pol, box = c.opened(pol)
	}
	return limiter.NewBoundAmong(pol, box.From, box.To)
}

// unexplainedSeveral returns the numbers of the denials that none of the policies can explain, but for one
// that is left out, ascending. Boxes are those of the policies, nil for all that is open.
func (c *Case) unexplainedSeveral(histories []*history.History, except int, boxes []history.Interval) []int {
	var left []int
	first := true
	for i, pol := range c.Limit {
		if i == except {
			continue
		}
		open, box := c.opened(pol)
		if boxes != nil && !limiter.Anchored(pol) {
			box = boxes[i]
		}
		var mine []int
		for _, j := range limiter.UnexplainedBy(histories[i], limiter.NewBoundAmong(open, box.From, box.To)) {
			mine = append(mine, histories[i].Denied[j].Seq)
		}
		slices.Sort(mine)
		if first {
			left, first = mine, false
			continue
		}
		left = slices.DeleteFunc(left, func(seq int) bool {
			_, ok := slices.BinarySearch(mine, seq)
			return !ok
		})
	}
	return left
}

// SeveralSearch looks for phases, one for each policy, that no partition of a group refutes.
type SeveralSearch struct {
	C *Case
	// parts are the histories of the partitions, one for each policy.
	parts [][]*history.History
	// joint are those of all policies together.
	joint []*history.History
	// turns are those of search, for each policy.
	turns []phases.Breakpoints
	found []phases.Refutation
	// budget is how many boxes may still be judged; steps counts the decisions that exact searches tried;
	// capped tells that one of the two ran out.
	budget, steps int
	capped        bool
	// most is how many decisions all exact searches may try, work how many observations the bounds may
	// judge.
	most, work int
	// survived tells that some phases were not refuted.
	survived bool
}

// refute returns the breaches that together refute all phases, or ok=false.
func (s *SeveralSearch) refute() (found []phases.Refutation, ok bool) {
	s.budget = 1
	var boxes []history.Interval
	for i, pol := range s.C.Limit {
		_, box := s.C.opened(pol)
		if limiter.Anchored(pol) {
			box = history.Interval{} // the search knows when its windows begin
		}
		boxes = append(boxes, box)
		g := &phases.Group{}
		for _, h := range s.parts {
			g.Parts = append(g.Parts, h[i])
		}
		var listed phases.Breakpoints
		if box.From != box.To {
			listed = phases.BreakpointsOf(g.Parts, int64(pol.Slot()), box)
			n := 1
			for _, h := range g.Parts {
				n += len(h.All)
			}
			s.budget = min(max(s.work/n, phases.LeastWhole), phases.MostBoxes)
		}
		s.turns = append(s.turns, listed)
	}
	if len(phases.Explore([][]history.Interval{boxes}, s.look)) > 0 {
		return nil, false
	}
	return s.found, true
}

// look refutes one box of each policy, or divides one of them.
func (s *SeveralSearch) look(boxes []history.Interval) (halves [][]history.Interval, stop bool) {
	if s.budget <= 0 {
		s.capped = true
		return nil, true
	}
	s.budget--
	if r, ok := s.judge(boxes); ok {
		s.found = append(s.found, r)
		return nil, false
	}
	if s.survived {
		return nil, true
	}
	return phases.Halved(HalvesOf(boxes, s.turns))
}

// HalvesOf divides the box with the most turns inside; ok=false where every box is one phase.
func HalvesOf(boxes []history.Interval, all []phases.Breakpoints) (lower, upper []history.Interval, ok bool) {
	widest, most := -1, -1
	for i, b := range boxes {
		if n := len(all[i].Inside(b)); b.From != b.To && n > most {
			widest, most = i, n
		}
	}
	if widest < 0 {
		return boxes, boxes, false
	}
	lower, upper = slices.Clone(boxes), slices.Clone(boxes)
	lower[widest], upper[widest] = boxes[widest].Cut(all[widest].Split(boxes[widest]))
	return lower, upper, true
}

// judge asks every partition whether it refutes the whole box of each policy.
func (s *SeveralSearch) judge(boxes []history.Interval) (phases.Refutation, bool) {
	alike, single := true, true
	for i, b := range boxes {
		alike, single = alike && s.turns[i].Alike(s.C.Limit[i], b), single && b.From == b.To
	}
	for k, histories := range s.parts {
		if br := s.Bounded(histories, boxes); br != nil {
			return phases.Refutation{Part: k, Breach: br}, true
		}
	}
	if !alike || s.C.O.Conformance != "" && s.C.O.Conformance != verdict.Exact ||
		slices.ContainsFunc(s.C.Limit, limiter.Ranged) {
		return phases.Refutation{}, false
	}
	at := make([]int64, len(boxes))
	for i, b := range boxes {
		at[i] = b.From
	}
	for k, joint := range s.joint {
		if s.steps > s.most {
			s.capped = true
			break
		}
		br, visited, judged := search.UnexplainableBy(joint, s.C.Limit, at, s.most)
		s.steps += visited
		if br != nil {
			// another policy may tell apart what is alike
			return phases.Refutation{Part: k, Breach: br}, single
		}
		s.capped = s.capped || judged == search.JudgedPart
	}
	s.survived = true
	return phases.Refutation{}, false
}

// Bounded asks the bounds.
func (s *SeveralSearch) Bounded(histories []*history.History, boxes []history.Interval) *limiter.Breach {
	for i, pol := range s.C.Limit {
		if s.C.O.Conformance == verdict.LowerBound {
			break
		}
		if br := s.C.boundOf(pol, boxes[i]).Over(histories[i]); br != nil {
			return br
		}
	}
	if s.C.O.Conformance == verdict.UpperBound {
		return nil
	}
	if left := s.C.unexplainedSeveral(histories, -1, boxes); len(left) > 0 {
		return s.C.underSeveral(histories, boxes, left[0])
	}
	return nil
}

// underSeveral returns the breach of a denial that no policy can explain: it and all that may have counted
// against it.
func (c *Case) underSeveral(histories []*history.History, boxes []history.Interval, seq int) *limiter.Breach {
	all := &limiter.Breach{Kind: verdict.NoExplanation}
	for i, pol := range c.Limit {
		br := limiter.UnderBreach(histories[i], c.boundOf(pol, boxes[i]), histories[i].Denial(seq))
		all.Events = append(all.Events, br.Events...)
	}
	all.Events = history.Of(all.Events).All
	all.Span = limiter.SpanOf(all.Events)
	return all
}

// searchSeveral searches partitions that share what phases are open.
func (c *Case) searchSeveral(parts []*Part) {
	s, n := &SeveralSearch{C: c}, 0
	for _, p := range parts {
		s.parts, s.joint = append(s.parts, p.Histories), append(s.joint, c.Jointly(p))
		n += len(p.Obs)
	}
	s.most, s.work = c.decisions(n), c.bounded(n)/len(c.Limit)
	found, refuted := s.refute()
	mine, accused := make([][]*limiter.Breach, len(parts)), 0
	for _, r := range found {
		if mine[r.Part] = append(mine[r.Part], r.Breach); len(mine[r.Part]) == 1 {
			accused++
		}
	}
	for i, p := range parts {
		p.Search = verdict.Search{Visited: s.steps, Cap: search.VisitCap, Capped: s.capped}
		if refuted && len(mine[i]) > 0 {
			p.Findings = []verdict.Finding{c.severalFinding(p, mine[i], accused-1)}
		}
	}
}

// severalProof returns the proof that makes a witness of what refutes all policies together.
func (c *Case) severalProof(p *Part) *witness.Proof {
	until := history.MinTime
	for _, pol := range c.Limit {
		switch {
		case pol.TTL > 0 && (limiter.RemembersStart(pol) || pol.Align == spec.AlignFirst):
			until = history.MaxTime // any request may find that it is the first
		case limiter.RemembersStart(pol), pol.Refill == spec.RefillInterval:
			until = max(until, c.Jointly(p).FirstEnd())
		}
	}
	return &witness.Proof{H: c.Jointly(p), Tries: witness.ProofTries, Until: until,
		Counted: search.Counted(c.Limit),
		Judge: func(h *history.History, most int) ([]phases.Refutation, int, bool) {
			s := &SeveralSearch{C: c, joint: []*history.History{h}, most: phases.StepBudget,
				work: phases.MaxWork}
			s.parts = [][]*history.History{make([]*history.History, len(c.Limit))}
			for i := range c.Limit {
				s.parts[0][i] = h.Under(i, c.Limit[i].Completes())
			}
			if most > 0 {
				s.most = most
			}
			found, ok := s.refute()
			return found, s.steps, ok
		}}
}

// severalFinding makes a finding of what refutes all policies together, with what is found of others unless
// it does so alone.
func (c *Case) severalFinding(p *Part, found []*limiter.Breach, others int) verdict.Finding {
	if c.Quick {
		return verdict.Finding{Kind: verdict.NoExplanation}
	}
	for _, br := range found {
		br.Events = c.Jointly(p).These(br.Events)
	}
	events := witness.EventsOf(found)
	if !slices.ContainsFunc(c.Limit, limiter.Anchored) { // whose windows begin elsewhere with less
		_, events = c.severalProof(p).Fewest(found)
	}
	if others > 0 && c.severalProof(p).Refute(events) != nil {
		others = 0
	}
	_, box := c.opened(c.Limit[0])
	one := &limiter.Breach{Kind: verdict.NoExplanation, Events: events, Span: limiter.SpanOf(events),
		Open: len(found) > 1}
	return c.Describe(p, []*limiter.Breach{one}, events, c.Limit[0], box, others)
}
