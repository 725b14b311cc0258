package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// judgeSeveral judges all partitions under several policies that must all admit. First it asks the bound of
// each policy, over all of its open phases. Where these find nothing, it searches the phases of all policies,
// with the exact search of all policies together.
func (c *Case) judgeSeveral() {
	Each(len(c.Parts), func(i int) { c.BoundSeveral(c.Parts[i]) })
	if c.BoundsOnly || c.dated() || c.O.Conformance != "" && c.O.Conformance != result.Exact {
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

// dated tells whether a policy counts by calendar days. Its intervals are on a clock of its own then, so that
// no search has the policies together.
func (c *Case) dated() bool {
	return slices.ContainsFunc(c.Limit, func(p spec.Policy) bool { return p.Align == spec.AlignCalendar })
}

// sharedPhases tells whether some phase is open, and every open phase is the same in all partitions.
func (c *Case) sharedPhases() bool {
	open := false
	for _, pol := range c.Limit {
		box, shared := PhasesOf(pol, c.Rec.Header)
		if box.From != box.To && !shared {
			return false
		}
		open = open || box.From != box.To
	}
	return open
}

// BoundSeveral judges a partition by the bounds. Each policy alone bounds the admissions. A denial needs one
// policy that can explain it.
func (c *Case) BoundSeveral(p *Part) {
	bounds := c.severalBounds(nil)
	for i, b := range bounds {
		if br := b.Over(p.Histories[i]); br != nil && c.O.Conformance != result.LowerBound {
			p.Findings = append(p.Findings, c.severalBound(p, br, i))
		}
	}
	if c.O.Conformance == result.UpperBound {
		return
	}
	unexplained := c.unexplainedSeveral(p.Histories, bounds, -1)
	if len(unexplained) == 0 {
		return
	}
	last := len(c.Limit) - 1
	br := limiter.UnderBreach(p.Histories[last], bounds[last], p.Histories[last].Numbered(unexplained[0]))
	br.Events = underSeveral(p.Histories, bounds, unexplained[0]).Events
	p.Findings = append(p.Findings, c.severalBound(p, br, last))
}

// severalBound makes a finding of a breach that the bound of policy i found.
func (c *Case) severalBound(p *Part, br *limiter.Breach, i int) result.Finding {
	if c.Quick {
		return result.Finding{Kind: br.Kind}
	}
	_, box := c.opened(c.Limit[i])
	return c.Describe(p, []*limiter.Breach{br}, c.complete(p, br), c.Limit[i], box, 0)
}

// complete returns the events of a breach, and the events without which they cannot be judged: the requests
// that place its windows, or that created its bucket.
func (c *Case) complete(p *Part, br *limiter.Breach) []history.Event {
	if c.dated() || slices.ContainsFunc(c.Limit, limiter.Anchored) {
		return EventsOf([]*limiter.Breach{br})
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

// opened returns the box of phases that is open for a policy, and the policy whose bound holds over that box.
func (c *Case) opened(pol spec.Policy) (spec.Policy, history.Interval) {
	if limiter.Anchored(pol) {
		pol.Align = spec.AlignUnknown
		return pol, history.Interval{From: 0, To: int64(pol.LongestWindow()) - 1}
	}
	box, _ := PhasesOf(pol, c.Rec.Header)
	return pol, box
}

// severalBounds returns the bound of each policy over its box of phases. nil: over all that is open. It is
// over all phases if the first counted request places the windows.
func (c *Case) severalBounds(boxes []history.Interval) []limiter.Bound {
	out := make([]limiter.Bound, len(c.Limit))
	for i, pol := range c.Limit {
		open, box := c.opened(pol)
		if boxes != nil && !limiter.Anchored(pol) {
			box = boxes[i]
		}
		out[i] = limiter.NewBoundAmong(open, box.From, box.To)
	}
	return out
}

// unexplainedSeveral returns the numbers of the denials that none of the policies can explain, ascending.
// Policy `except` is left out; -1: none is.
func (c *Case) unexplainedSeveral(histories []*history.History, bounds []limiter.Bound, except int) []int {
	var left []int
	first := true
	for i, b := range bounds {
		if i == except {
			continue
		}
		var mine []int
		for _, j := range limiter.UnexplainedBy(histories[i], b) {
			mine = append(mine, histories[i].Denial(j).Seq)
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
	// parts has the histories of each partition, one for each policy.
	parts [][]*history.History
	// joint has the history of each partition under all policies together.
	joint []*history.History
	// turns has the breakpoints of each policy's phase.
	turns []Breakpoints
	found []Refutation
	// budget is how many boxes may still be judged. steps counts the decisions that exact searches tried.
	// capped: one of the two ran out.
	budget, steps int
	capped        bool
	// most is how many decisions all exact searches may try. work is how many observations the bounds may
	// judge.
	most, work int
	// survived: the exact search did not refute some phases.
	survived bool
}

// refute returns the breaches that together refute all phases, or ok=false.
func (s *SeveralSearch) refute() (found []Refutation, ok bool) {
	s.budget = 1
	var boxes []history.Interval
	for i, pol := range s.C.Limit {
		_, box := s.C.opened(pol)
		if limiter.Anchored(pol) {
			box = history.Interval{} // the exact search knows when its windows begin
		}
		boxes = append(boxes, box)
		g := &Group{}
		for _, h := range s.parts {
			g.Parts = append(g.Parts, h[i])
		}
		var listed Breakpoints
		if box.From != box.To {
			listed = BreakpointsOf(g.Parts, int64(pol.ShortestWindow()), box)
			n := 1
			for _, h := range g.Parts {
				n += len(h.All)
			}
			s.budget = min(max(s.work/n, LeastWhole), MostBoxes)
		}
		s.turns = append(s.turns, listed)
	}
	if len(Explore([][]history.Interval{boxes}, s.look)) > 0 {
		return nil, false
	}
	return s.found, true
}

// look refutes a box of phases of each policy, or divides one of these boxes.
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
	return Halved(HalvesOf(boxes, s.turns))
}

// HalvesOf divides the box with the most breakpoints inside. ok=false: every box is one phase.
func HalvesOf(boxes []history.Interval, all []Breakpoints) (lower, upper []history.Interval, ok bool) {
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
func (s *SeveralSearch) judge(boxes []history.Interval) (Refutation, bool) {
	alike, single := true, true
	for i, b := range boxes {
		alike, single = alike && s.turns[i].Alike(s.C.Limit[i], b), single && b.From == b.To
	}
	for k, histories := range s.parts {
		if br := s.Bounded(histories, boxes); br != nil {
			return Refutation{Part: k, Breach: br}, true
		}
	}
	if !alike || s.C.O.Conformance != "" && s.C.O.Conformance != result.Exact ||
		slices.ContainsFunc(s.C.Limit, limiter.Ranged) {
		return Refutation{}, false
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
			// Phases that are alike for each policy may differ for all of them together.
			return Refutation{Part: k, Breach: br}, single
		}
		s.capped = s.capped || judged == search.JudgedPart
	}
	s.survived = true
	return Refutation{}, false
}

// Bounded returns what the bounds find in one partition, or nil.
func (s *SeveralSearch) Bounded(histories []*history.History, boxes []history.Interval) *limiter.Breach {
	bounds := s.C.severalBounds(boxes)
	for i, b := range bounds {
		if br := b.Over(histories[i]); br != nil && s.C.O.Conformance != result.LowerBound {
			return br
		}
	}
	if s.C.O.Conformance == result.UpperBound {
		return nil
	}
	if left := s.C.unexplainedSeveral(histories, bounds, -1); len(left) > 0 {
		return underSeveral(histories, bounds, left[0])
	}
	return nil
}

// underSeveral returns the breach of a denial that no policy can explain. It has the denial and all requests
// that may have counted against it.
func underSeveral(histories []*history.History, bounds []limiter.Bound, seq int) *limiter.Breach {
	all := &limiter.Breach{Kind: result.NoExplanation}
	for i, b := range bounds {
		br := limiter.UnderBreach(histories[i], b, histories[i].Numbered(seq))
		all.Events = append(all.Events, br.Events...)
	}
	all.Events = history.Of(all.Events).All
	all.Span = limiter.SpanOf(all.Events)
	return all
}

// searchSeveral searches partitions that share their open phases.
func (c *Case) searchSeveral(parts []*Part) {
	s, n := &SeveralSearch{C: c}, 0
	for _, p := range parts {
		s.parts, s.joint = append(s.parts, p.Histories), append(s.joint, c.Jointly(p))
		n += len(p.Obs)
	}
	s.most, s.work = c.decisions(n), c.bounded(n)/len(c.Limit)
	found, refuted := s.refute()
	mine, accused := byPart(found, len(parts))
	for i, p := range parts {
		p.Search = result.Search{Visited: s.steps, Cap: search.VisitCap, Capped: s.capped}
		if refuted && len(mine[i]) > 0 {
			p.Findings = []result.Finding{c.severalFinding(p, mine[i], accused-1)}
		}
	}
}

// severalProof returns the proof that finds the witness for what refutes all policies together.
func (c *Case) severalProof(p *Part) *Proof {
	until := history.MinTime
	for _, pol := range c.Limit {
		switch {
		case pol.TTL > 0 && (limiter.RemembersStart(pol) || pol.Align == spec.AlignFirst):
			until = history.MaxTime // any request may find that it is the first
		case limiter.RemembersStart(pol), pol.Refill == spec.RefillInterval:
			until = max(until, c.Jointly(p).FirstEnd())
		}
	}
	return &Proof{H: c.Jointly(p), Tries: ProofTries, Until: until, Counted: search.Counted(c.Limit),
		Judge: func(h *history.History, most int) ([]Refutation, int, bool) {
			s := &SeveralSearch{C: c, joint: []*history.History{h}, most: StepBudget, work: MaxWork}
			s.parts = [][]*history.History{make([]*history.History, len(c.Limit))}
			for i := range c.Limit {
				s.parts[0][i] = h.Under(i, history.StayOf(c.Limit[i]))
			}
			if most > 0 {
				s.most = most
			}
			found, ok := s.refute()
			return found, s.steps, ok
		}}
}

// severalFinding makes a finding of what refutes all policies together. The proof needs the breaches of so
// many other partitions, unless p alone proves it.
func (c *Case) severalFinding(p *Part, found []*limiter.Breach, others int) result.Finding {
	if c.Quick {
		return result.Finding{Kind: result.NoExplanation}
	}
	for _, br := range found {
		br.Events = c.Jointly(p).These(br.Events)
	}
	events := EventsOf(found)
	if !slices.ContainsFunc(c.Limit, limiter.Anchored) { // with fewer events, their windows begin elsewhere
		_, events = c.severalProof(p).Fewest(found)
	}
	if others > 0 && c.severalProof(p).Refute(events) != nil {
		others = 0
	}
	_, box := c.opened(c.Limit[0])
	one := &limiter.Breach{Kind: result.NoExplanation, Events: events, Span: limiter.SpanOf(events),
		Open: len(found) > 1}
	return c.Describe(p, []*limiter.Breach{one}, events, c.Limit[0], box, others)
}
