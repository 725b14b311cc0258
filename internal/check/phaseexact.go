package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// The work that the search of one group may take, where nothing else is said.
const (
	// stepBudget is how many decisions the exact searches may try of one phase at a time, and as many of
	// all phases of a box at once.
	stepBudget = visitCap
	// maxWork is how many observations the bounds may judge in the search for a phase.
	maxWork = 25_000_000
)

// mostSteps is how many decisions the exact searches of one kind may try together.
func (s *search) mostSteps() int {
	if s.each > 0 {
		return s.each
	}
	return stepBudget
}

// tried is how many decisions all exact searches tried.
func (s *search) tried() int { return s.steps + s.wide }

// exactly searches every partition exactly under the first phase of a cell.
func (s *search) exactly(b cell) (refutation, bool) {
	if s.quick || ranged(b.policy) || s.mode != "" && s.mode != verdict.Exact {
		return refutation{}, false
	}
	s.last = 0
	gaveUp := make([]bool, len(s.group.parts)) // where a beginning is too much, the whole is
	for k, g := range s.beginnings {
		for i, h := range g.parts {
			if gaveUp[i] || s.judged(k, i) {
				continue
			}
			if s.steps > s.mostSteps() {
				s.capped = true
				return refutation{}, false
			}
			r, visited, limited := searched(h, b, s.each)
			s.steps += visited
			s.last = max(s.last, visited)
			if r != nil {
				r.part = i
				return *r, true
			}
			gaveUp[i], s.capped = limited, s.capped || limited
		}
	}
	return refutation{}, false
}

// together searches every partition exactly under all phases of a cell at once. A decision at d under a phase
// P answers as one at d-(P-from) under the phase from does, so that whatever the phase, the decisions lie in
// intervals that begin earlier by the width of the box. What nothing explains then, nothing explains under
// any phase of the box.
func (s *search) together(b cell) (refutation, bool) {
	width := b.to - b.from
	if s.quick || b.policy.Completes() || width > s.reach || s.wide > s.mostSteps() || s.mode != "" &&
		s.mode != verdict.Exact {
		return refutation{}, false
	}
	for k, g := range s.beginnings {
		for i, h := range g.parts {
			if s.judged(k, i) {
				continue
			}
			r, visited, _ := searched(h.earlier(width), b, wideSteps+4*s.last)
			if s.wide += visited; r == nil {
				continue
			}
			s.reach = max(s.reach, 2*width+1)
			r.part, r.events = i, h.all[:len(r.events)]
			return *r, true
		}
	}
	s.reach = width / 2
	return refutation{}, false
}

// wideSteps is how many decisions the search of a box may try at least.
const wideSteps = 1 << 12

// searched searches h exactly under the policy and the first phase of a cell, and tries no more than `most`
// decisions, if that is not 0.
func searched(h *history, b cell, most int) (r *refutation, visited int, limited bool) {
	x := newExact(h, b.policy, b.from)
	if x == nil || x.dear(h) && simply(h, spec.Limit{b.policy}, []int64{b.from}) {
		return nil, 0, false
	}
	if most > 0 {
		x.most = min(most, x.most)
	}
	dead := x.search()
	if dead == nil {
		return nil, x.visited, x.limited
	}
	return &refutation{breach: together(h.before(dead.at).all), searched: h, cell: b}, x.visited, false
}

// shorten drops the beginning of what an exact search refuted, as far as it is not needed.
func (r *refutation) shorten() {
	if r.searched == nil {
		return
	}
	h := r.searched.first(len(r.events))
	rest := shortest(h, spec.Limit{r.cell.policy}, []int64{r.cell.from})
	r.breach = together(r.events[len(h.all)-len(rest.all):])
}
