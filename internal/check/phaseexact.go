package check

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// The usual budgets for the search of one group.
const (
	// StepBudget is the work that the exact searches of one phase at a time may take together. The searches
	// of all phases of a box at once may take as much again.
	StepBudget = search.VisitCap
	// MaxWork is how many observations the bounds may judge in the search for a phase.
	MaxWork = 25_000_000
)

// mostSteps is the work that the exact searches of one kind may take together.
func (s *PhaseSearch) mostSteps() int {
	if s.Each > 0 {
		return s.Each
	}
	return StepBudget
}

// Tried is the work of all exact searches.
func (s *PhaseSearch) Tried() int { return s.Steps + s.Wide }

// Exactly searches every partition exactly under the first phase of a cell. false: no partition is refuted,
// or not within the budget.
func (s *PhaseSearch) Exactly(b Cell) (Refutation, bool) {
	if s.Quick || limiter.Ranged(b.Policy) || s.Mode != "" && s.Mode != result.Exact {
		return Refutation{}, false
	}
	s.last = 0
	gaveUp := make([]bool, len(s.Group.Parts)) // a beginning is too much: so is the whole
	for k, g := range s.Beginnings {
		for i, h := range g.Parts {
			if gaveUp[i] || s.judged(k, i) {
				continue
			}
			if s.Steps > s.mostSteps() {
				s.Capped = true
				return Refutation{}, false
			}
			r, visited, limited := searched(h, b, s.Each)
			s.Steps += visited
			s.last = max(s.last, visited)
			if r != nil {
				r.Part = i
				return *r, true
			}
			gaveUp[i], s.Capped = limited, s.Capped || limited
		}
	}
	return Refutation{}, false
}

// Together searches every partition exactly under all phases of a cell at once. Let P be a phase of the cell.
// A decision at d under P answers as a decision at d-(P-From) does under the phase From. So under the phase
// From, all decisions of any phase lie in intervals that begin earlier by the width of the cell. If nothing
// explains these, no phase of the cell does.
//
//	under P         From ...P  [====d====]
//	under From      From   [====d====]             shifted left by P-From
//	asked           From [ - - [=========]         begins earlier by To-From: holds the shift of every phase
func (s *PhaseSearch) Together(b Cell) (Refutation, bool) {
	width := b.To - b.From
	if s.Quick || b.Policy.Completes() || width > s.Reach || s.Wide > s.mostSteps() || s.Mode != "" &&
		s.Mode != result.Exact {
		return Refutation{}, false
	}
	for k, g := range s.Beginnings {
		for i, h := range g.Parts {
			if s.judged(k, i) {
				continue
			}
			r, visited, _ := searched(h.Earlier(width), b, WideSteps+4*s.last)
			if s.Wide += visited; r == nil {
				continue
			}
			s.Reach = max(s.Reach, 2*width+1)
			r.Part, r.Events = i, h.All[:len(r.Events)]
			return *r, true
		}
	}
	s.Reach = width / 2
	return Refutation{}, false
}

// WideSteps is the least work that the search of a cell may take.
const WideSteps = 1 << 12

// searched searches h exactly under the policy and first phase of a cell. most, unless 0, caps the work. r is
// nil where h is not refuted; limited: the cap was reached.
func searched(h *history.History, b Cell, most int) (r *Refutation, visited int, limited bool) {
	x := search.New(h, b.Policy, b.From)
	if x == nil || search.Simply(h, spec.Limit{b.Policy}, []int64{b.From}) {
		return nil, 0, false
	}
	if most > 0 {
		x.Most = min(most, x.Most)
	}
	dead := x.Search()
	if dead == nil {
		return nil, x.Visited, x.Limited
	}
	return &Refutation{Breach: search.Together(h.Before(dead.At).All), searched: h, cell: b}, x.Visited, false
}

// shorten drops the beginning of the refuted history, as far as the rest is refuted too.
func (r *Refutation) shorten() {
	if r.searched == nil {
		return
	}
	h := r.searched.First(len(r.Events))
	rest := search.Shortest(h, spec.Limit{r.cell.Policy}, []int64{r.cell.From})
	r.Breach = search.Together(r.Events[len(h.All)-len(rest.All):])
}
