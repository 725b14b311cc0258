package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// judgeSeveral judges all partitions under several policies that must all admit: first by the bounds of each,
// with its phases open as a whole; where they find nothing, by a search of the phases of all policies with
// the exact search of all together.
func (c *caseFile) judgeSeveral() {
	each(len(c.parts), func(i int) { c.boundSeveral(c.parts[i]) })
	if c.boundsOnly || c.o.Conformance != "" && c.o.Conformance != verdict.Exact {
		return
	}
	groups := [][]*part{c.parts}
	if !c.sharedPhases() {
		groups = nil
		for i := range c.parts {
			groups = append(groups, c.parts[i:i+1])
		}
	}
	each(len(groups), func(i int) {
		if !slices.ContainsFunc(groups[i], func(p *part) bool { return len(p.findings) > 0 }) {
			c.searchSeveral(groups[i])
		}
	})
}

// sharedPhases tells whether some phase is open, and all that are, are the same in all partitions.
func (c *caseFile) sharedPhases() bool {
	open := false
	for _, pol := range c.limit {
		box, shared := phasesOf(pol, c.tl.Header)
		if box.from != box.to && !shared {
			return false
		}
		open = open || box.from != box.to
	}
	return open
}

// boundSeveral judges a partition by the bounds: each policy bounds the admissions alone, and a denial needs
// one policy that can explain it.
func (c *caseFile) boundSeveral(p *part) {
	for i, pol := range c.limit {
		open, box := c.opened(pol)
		if br := newBoundAmong(open, box.from, box.to).over(p.histories[i]); br != nil &&
			c.o.Conformance != verdict.LowerBound {
			p.findings = append(p.findings, c.severalBound(p, br, pol, box))
		}
	}
	if c.o.Conformance == verdict.UpperBound {
		return
	}
	unexplained := c.unexplainedSeveral(p.histories, -1, nil)
	if len(unexplained) == 0 {
		return
	}
	last := len(c.limit) - 1
	limit, boxes := slices.Clone(c.limit), make([]phases, len(c.limit))
	for i := range limit {
		limit[i], boxes[i] = c.opened(limit[i])
	}
	br := underBreach(p.histories[last], newBoundAmong(limit[last], boxes[last].from, boxes[last].to),
		p.histories[last].denial(unexplained[0]))
	br.events = c.underSeveral(p.histories, boxes, unexplained[0]).events
	p.findings = append(p.findings, c.severalBound(p, br, c.limit[last], boxes[last]))
}

// severalBound makes a finding of what the bound of one of several policies found.
func (c *caseFile) severalBound(p *part, br *breach, pol spec.Policy, box phases) verdict.Finding {
	if c.quick {
		return verdict.Finding{Kind: br.kind}
	}
	return c.describe(p, []*breach{br}, c.complete(p, br), pol, box, 0)
}

// complete returns the events of a breach and what they cannot be judged without: the requests that place its
// windows, or that created its bucket.
func (c *caseFile) complete(p *part, br *breach) []event {
	if slices.ContainsFunc(c.limit, anchored) {
		return eventsOf([]*breach{br})
	}
	joint, named := c.jointly(p), br.events
	if br.creator != nil {
		named = append(slices.Clone(named), *br.creator)
	}
	events := joint.these(named)
	if c.severalProof(p).refute(events) == nil {
		return joint.before(lastEnd(events)).all
	}
	return events
}

// opened returns the box of phases that is open for a policy, and the policy as it is bounded over them.
func (c *caseFile) opened(pol spec.Policy) (spec.Policy, phases) {
	if anchored(pol) {
		pol.Align = spec.AlignUnknown
		return pol, phases{0, int64(pol.LongestWindow()) - 1}
	}
	box, _ := phasesOf(pol, c.tl.Header)
	return pol, box
}

// boundOf returns the bound of a policy for a box of its phases: for all of them where the first counted
// request places its windows.
func (c *caseFile) boundOf(pol spec.Policy, box phases) bound {
	if anchored(pol) {
		pol, box = c.opened(pol)
	}
	return newBoundAmong(pol, box.from, box.to)
}

// unexplainedSeveral returns the numbers of the denials that none of the policies can explain, but for one
// that is left out, ascending. Boxes are those of the policies, nil for all that is open.
func (c *caseFile) unexplainedSeveral(histories []*history, except int, boxes []phases) []int {
	var left []int
	first := true
	for i, pol := range c.limit {
		if i == except {
			continue
		}
		open, box := c.opened(pol)
		if boxes != nil && !anchored(pol) {
			box = boxes[i]
		}
		var mine []int
		for _, j := range unexplainedBy(histories[i], newBoundAmong(open, box.from, box.to)) {
			mine = append(mine, histories[i].denied[j].seq)
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

// severalSearch looks for phases, one for each policy, that no partition of a group refutes.
type severalSearch struct {
	c *caseFile
	// parts are the histories of the partitions, one for each policy.
	parts [][]*history
	// joint are those of all policies together.
	joint []*history
	// turns are those of search, for each policy.
	turns []turns
	found []refutation
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
func (s *severalSearch) refute() (found []refutation, ok bool) {
	s.budget = 1
	var boxes []phases
	for i, pol := range s.c.limit {
		_, box := s.c.opened(pol)
		if anchored(pol) {
			box = phases{} // the search knows when its windows begin
		}
		boxes = append(boxes, box)
		g := &group{}
		for _, h := range s.parts {
			g.parts = append(g.parts, h[i])
		}
		var listed turns
		if box.from != box.to {
			listed = turnsOf(g.parts, int64(pol.Slot()), box)
			n := 1
			for _, h := range g.parts {
				n += len(h.all)
			}
			s.budget = min(max(s.work/n, leastWhole), mostBoxes)
		}
		s.turns = append(s.turns, listed)
	}
	if len(explore([][]phases{boxes}, s.look)) > 0 {
		return nil, false
	}
	return s.found, true
}

// look refutes one box of each policy, or divides one of them.
func (s *severalSearch) look(boxes []phases) (halves [][]phases, stop bool) {
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
	return halved(halvesOf(boxes, s.turns))
}

// halvesOf divides the box with the most turns inside; ok=false where every box is one phase.
func halvesOf(boxes []phases, all []turns) (lower, upper []phases, ok bool) {
	widest, most := -1, -1
	for i, b := range boxes {
		if n := len(all[i].inside(b)); b.from != b.to && n > most {
			widest, most = i, n
		}
	}
	if widest < 0 {
		return boxes, boxes, false
	}
	lower, upper = slices.Clone(boxes), slices.Clone(boxes)
	lower[widest], upper[widest] = boxes[widest].cut(all[widest].split(boxes[widest]))
	return lower, upper, true
}

// judge asks every partition whether it refutes the whole box of each policy.
func (s *severalSearch) judge(boxes []phases) (refutation, bool) {
	alike, single := true, true
	for i, b := range boxes {
		alike, single = alike && s.turns[i].alike(s.c.limit[i], b), single && b.from == b.to
	}
	for k, histories := range s.parts {
		if br := s.bounded(histories, boxes); br != nil {
			return refutation{part: k, breach: br}, true
		}
	}
	if !alike || s.c.o.Conformance != "" && s.c.o.Conformance != verdict.Exact ||
		slices.ContainsFunc(s.c.limit, ranged) {
		return refutation{}, false
	}
	at := make([]int64, len(boxes))
	for i, b := range boxes {
		at[i] = b.from
	}
	for k, joint := range s.joint {
		if s.steps > s.most {
			s.capped = true
			break
		}
		br, visited, judged := unexplainableBy(joint, s.c.limit, at, s.most)
		s.steps += visited
		if br != nil {
			return refutation{part: k, breach: br}, single // another policy may tell apart what is alike
		}
		s.capped = s.capped || judged == judgedPart
	}
	s.survived = true
	return refutation{}, false
}

// bounded asks the bounds.
func (s *severalSearch) bounded(histories []*history, boxes []phases) *breach {
	for i, pol := range s.c.limit {
		if s.c.o.Conformance == verdict.LowerBound {
			break
		}
		if br := s.c.boundOf(pol, boxes[i]).over(histories[i]); br != nil {
			return br
		}
	}
	if s.c.o.Conformance == verdict.UpperBound {
		return nil
	}
	if left := s.c.unexplainedSeveral(histories, -1, boxes); len(left) > 0 {
		return s.c.underSeveral(histories, boxes, left[0])
	}
	return nil
}

// underSeveral returns the breach of a denial that no policy can explain: it and all that may have counted
// against it.
func (c *caseFile) underSeveral(histories []*history, boxes []phases, seq int) *breach {
	all := &breach{kind: verdict.NoExplanation}
	for i, pol := range c.limit {
		br := underBreach(histories[i], c.boundOf(pol, boxes[i]), histories[i].denial(seq))
		all.events = append(all.events, br.events...)
	}
	all.events = historyOf(all.events).all
	all.span = spanOf(all.events)
	return all
}

// searchSeveral searches partitions that share what phases are open.
func (c *caseFile) searchSeveral(parts []*part) {
	s, n := &severalSearch{c: c}, 0
	for _, p := range parts {
		s.parts, s.joint = append(s.parts, p.histories), append(s.joint, c.jointly(p))
		n += len(p.obs)
	}
	s.most, s.work = c.decisions(n), c.share(maxWork/len(c.limit), n)
	found, refuted := s.refute()
	mine, accused := make([][]*breach, len(parts)), 0
	for _, r := range found {
		if mine[r.part] = append(mine[r.part], r.breach); len(mine[r.part]) == 1 {
			accused++
		}
	}
	for i, p := range parts {
		p.search = verdict.Search{Visited: s.steps, Cap: visitCap, Capped: s.capped}
		if refuted && len(mine[i]) > 0 {
			p.findings = []verdict.Finding{c.severalFinding(p, mine[i], accused-1)}
		}
	}
}

// severalProof returns the proof that makes a witness of what refutes all policies together.
func (c *caseFile) severalProof(p *part) *proof {
	until := minTime
	for _, pol := range c.limit {
		switch {
		case pol.TTL > 0 && (remembersStart(pol) || pol.Align == spec.AlignFirst):
			until = maxTime // any request may find that it is the first
		case remembersStart(pol), pol.Refill == spec.RefillInterval:
			until = max(until, c.jointly(p).firstEnd())
		}
	}
	return &proof{h: c.jointly(p), tries: proofTries, until: until, counted: counted(c.limit),
		judge: func(h *history, most int) ([]refutation, int, bool) {
			s := &severalSearch{c: c, joint: []*history{h}, most: stepBudget, work: maxWork}
			s.parts = [][]*history{make([]*history, len(c.limit))}
			for i := range c.limit {
				s.parts[0][i] = h.under(i, c.limit[i].Completes())
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
func (c *caseFile) severalFinding(p *part, found []*breach, others int) verdict.Finding {
	if c.quick {
		return verdict.Finding{Kind: verdict.NoExplanation}
	}
	for _, br := range found {
		br.events = c.jointly(p).these(br.events)
	}
	events := eventsOf(found)
	if !slices.ContainsFunc(c.limit, anchored) { // whose windows begin elsewhere with less
		_, events = c.severalProof(p).fewest(found)
	}
	if others > 0 && c.severalProof(p).refute(events) != nil {
		others = 0
	}
	_, box := c.opened(c.limit[0])
	one := &breach{kind: verdict.NoExplanation, events: events, span: spanOf(events), open: len(found) > 1}
	return c.describe(p, []*breach{one}, events, c.limit[0], box, others)
}
