package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// phases is a closed box of window phases, in nanoseconds since the start of the recording.
type phases struct{ from, to int64 }

// phasesOf returns the box of phases that a policy and a header leave open, and whether all partitions share one phase.
func phasesOf(p reference.Policy, h timeline.Header) (box phases, shared bool) {
	size := int64(p.LongestWindow())
	all := phases{0, size - 1}
	if !p.Windowed() || p.Align == reference.AlignFirst {
		return phases{}, false
	}
	switch p.Align {
	case reference.AlignUnknown:
		return all, false
	case reference.AlignShared:
		return all, true
	case reference.AlignPhase:
		return narrow(phases{int64(p.PhaseFrom), int64(p.PhaseTo)}, all), true
	}
	if h.Started.IsZero() || p.PerTo > 0 {
		return all, true
	}
	// Windows begin at multiples of the window since the epoch on the target's clock.
	begin := -(h.Started.UnixNano() % size)
	return narrow(phases{begin - int64(h.WallError), begin + int64(h.WallError)}, all), true
}

// narrow returns box, or all phases where box is as wide as a window.
func narrow(box, all phases) phases {
	if box.to-box.from >= all.to {
		return all
	}
	return box
}

// group is the partitions that share one phase.
type group struct {
	parts []*history
}

// refutation is a breach in partition part of a group.
type refutation struct {
	part int
	*breach
}

// search looks for a phase of the box that no partition of the group refutes.
type search struct {
	policy reference.Policy
	mode   Conformance
	group  *group
	// turns are the phases at which a request changes its window, ascending: between two of them a fixed window judges
	// alike.
	turns []int64
	// budget is how many boxes may still be judged, most the most there are at first, where it is not 0.
	budget, most int
	found        []refutation
	// limited tells that the budget ran out, so that the rest was not refuted; survived that some phase was not.
	limited, survived bool
	// quick leaves out the exact search.
	quick bool
	// steps counts the decisions that exact searches tried.
	steps int
	// capped tells that an exact search reached its cap.
	capped bool
	// ask, where it is not nil, asks the bounds for their answer alone: what is found has no breaches.
	ask *asker
}

// refute returns the breaches that together refute every phase of the box, or ok=false where some phase survives or the
// budget ran out.
func (s *search) refute(box phases) (found []refutation, ok bool) {
	s.budget = 1
	if box.from != box.to && s.policy.PerTo == 0 {
		s.turns = turnsOf(s.group, int64(s.policy.Rate.Per), box)
	}
	if box.from != box.to || ranged(s.policy) || s.policy.BanTo > 0 || s.policy.TTLTo > 0 {
		s.budget = boxBudget(s.group)
	}
	if s.most > 0 {
		s.budget = min(s.budget, s.most)
	}
	if !s.box(cell{box, divisible(s.policy)}) {
		return nil, false
	}
	return s.found, true
}

// cell is a box of phases and a policy whose rate and burst may be ranges.
type cell struct {
	phases
	policy reference.Policy
}

// box refutes one box, splitting it where it must.
func (s *search) box(b cell) bool {
	if s.budget <= 0 {
		s.limited = true
		return false
	}
	s.budget--
	if r, ok := s.judge(b); ok {
		if s.ask == nil {
			s.found = append(s.found, r)
		}
		return true
	}
	if s.survived {
		return false
	}
	lower, upper, ok := s.halves(b)
	return ok && s.box(lower) && s.box(upper)
}

// halves divides a box: its ranges before its phases. ok=false where there is nothing to divide.
func (s *search) halves(b cell) (lower, upper cell, ok bool) {
	if lower, upper, ok := divide(b.policy); ok {
		return cell{b.phases, lower}, cell{b.phases, upper}, true
	}
	if b.policy.PerTo > 0 && s.widerInWindow(b) {
		shorter, longer := halveWindow(b.policy)
		return cell{b.phases, shorter}, cell{b.phases, longer}, true
	}
	if lower, upper, ok := divideTimes(b.policy); ok && b.from == b.to {
		return cell{b.phases, lower}, cell{b.phases, upper}, true
	}
	if b.from == b.to || b.policy.RateTo > 0 || b.policy.BurstTo > 0 {
		return b, b, false
	}
	mid := s.split(b.phases)
	return cell{phases{b.from, mid - 1}, b.policy}, cell{phases{mid, b.to}, b.policy}, true
}

// widerInWindow tells whether the length of the windows of b leaves the last one of the recording more open than their phase
// does.
func (s *search) widerInWindow(b cell) bool {
	var end int64
	for _, h := range s.group.parts {
		if n := len(h.all); n > 0 { // else all that a stretch of windows had may belong to the next one
			end = max(end, h.all[n-1].s)
		}
	}
	return int64(b.policy.PerTo-b.policy.Rate.Per)*(end/int64(b.policy.Rate.Per)+1) >= b.to-b.from
}

// split returns the phase at which the upper half of b begins, in (b.from, b.to]: the middle one of the turns inside, else
// the middle.
func (s *search) split(b phases) int64 {
	lo, _ := slices.BinarySearch(s.turns, b.from+1)
	hi, _ := slices.BinarySearch(s.turns, b.to+1)
	if lo < hi {
		return s.turns[(lo+hi)/2]
	}
	return b.from + (b.to-b.from+1)/2
}

// judge asks every partition whether it refutes the whole box.
func (s *search) judge(b cell) (refutation, bool) {
	bd := newBound(b.policy, b.from, b.to)
	for i, h := range s.group.parts {
		if s.ask != nil {
			if s.ask.refutes(h, bd, s.mode) {
				return refutation{part: i}, true
			}
			continue
		}
		if br := judgeOne(h, bd, s.mode); br != nil {
			return refutation{i, br}, true
		}
	}
	if s.quick || ranged(b.policy) || !s.alike(b.phases) || s.mode != "" && s.mode != Exact {
		return refutation{}, false
	}
	for i, h := range s.group.parts {
		if s.steps > stepBudget {
			s.capped = true
			break
		}
		br, visited, limited := unexplainable(h, b.policy, b.from)
		s.steps += visited
		if br != nil { // of a box whose phases are not all one, only the first one is refuted
			return refutation{i, br}, b.from == b.to || timeless(b.policy)
		}
		s.capped = s.capped || limited
	}
	s.survived = true
	return refutation{}, false
}

// alike tells whether the phases of the box are worth no bounds of their own: there is only one, or no request of a fixed
// window certainly changes its window inside.
func (s *search) alike(b phases) bool {
	if b.from == b.to {
		return true
	}
	if s.policy.PerTo > 0 {
		return false
	}
	i, _ := slices.BinarySearch(s.turns, b.from+1)
	return s.policy.Algorithm == reference.FixedWindow && (i == len(s.turns) || s.turns[i] > b.to)
}

// timeless tells whether phases that are alike judge alike: nothing but the order of the decisions, and the windows that
// they lie in, matters to the policy. Else a request may have to be decided so long after another one that of these phases some
// have it in one window, and some in the next.
func timeless(p reference.Policy) bool { return p.Ban == 0 && p.TTL == 0 && !p.Completes() }

// judgeOne asks one bound both questions that the mode allows.
func judgeOne(h *history, b bound, mode Conformance) *breach {
	if mode != LowerBound {
		if br := b.over(h); br != nil {
			return br
		}
	}
	if mode != UpperBound {
		if out := unexplainedBy(h, b); len(out) > 0 {
			return underBreach(h, b, slices.Min(out))
		}
	}
	return nil
}

// stepBudget is how many decisions the exact searches of all phases may try together.
const stepBudget = 1 << 22

// turnsOf returns the phases inside the box at which a request of the group enters or leaves a window, ascending.
func turnsOf(g *group, size int64, box phases) []int64 {
	var out []int64
	if box.to-box.from > 64*size { // an anchor that nothing bounds: too many to list, and halves do as well
		return nil
	}
	for _, h := range g.parts {
		turns := 2
		if h.lag > 0 { // when it was sent, and what a late clock shows when it was answered
			turns = 4
		}
		for _, ev := range h.all {
			instants := [4]int64{ev.s, ev.e, ev.s + h.lag, ev.e - h.lag}
			for _, t := range instants[:turns] {
				// Of the phases congruent to t, and those that follow them, all inside the box.
				for p := t - floorDiv(t-box.from, size)*size; p <= box.to; p += size {
					out = append(out, p)
					if p < box.to {
						out = append(out, p+1)
					}
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// boxBudget bounds the work of a search to some hundred million steps.
func boxBudget(g *group) int {
	n := 1
	for _, h := range g.parts {
		n += len(h.all)
	}
	return min(max(200_000_000/(8*n), 64), 1<<16)
}
