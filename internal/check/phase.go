package check

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// phasesOf returns the box of phases that a policy and a header leave open, and whether all partitions share
// one phase.
func phasesOf(p spec.Policy, h timeline.Header) (box phases, shared bool) {
	size := int64(longestSlot(p))
	all := phases{0, size - 1}
	if !p.Windowed() || p.Align == spec.AlignFirst {
		return phases{}, false
	}
	switch p.Align {
	case spec.AlignUnknown:
		return all, false
	case spec.AlignShared:
		return all, true
	case spec.AlignPhase:
		return narrow(phases{int64(p.PhaseFrom), int64(p.PhaseTo)}, all), true
	}
	if h.Started.IsZero() || p.PerTo > 0 {
		return all, true
	}
	// Windows begin at multiples of the window since the epoch on the target's clock.
	begin := -(h.Started.UnixNano() % size)
	return narrow(phases{begin - int64(h.WallError), begin + int64(h.WallError)}, all), true
}

// longestSlot returns the longest that what p counts in can be: its window, or a slot of it.
func longestSlot(p spec.Policy) time.Duration {
	if p.Slots > 1 {
		return p.Slot()
	}
	return p.LongestWindow()
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
	// searched is the history in which an exact search found it, under the policy and its first phase; nil
	// for a bound.
	searched *history
	cell     cell
}

// search looks for a phase of the box that no partition of the group refutes.
type search struct {
	policy spec.Policy
	mode   verdict.Conformance
	group  *group
	// beginnings are those of the group, the shortest first and the whole last: what refutes a beginning
	// refutes the whole.
	beginnings []*group
	// turns are those of the group, listed where an exact search asks for them.
	turns turns
	// boxes is how many boxes, and work how many observations, may still be judged; few the most boxes, where
	// it is not 0.
	boxes, work, few int
	// most is how much work all boxes may take, 0 for all that there is.
	most int
	// begun tells that beginnings and turns are listed.
	begun bool
	found []refutation
	// limited tells that the budget ran out, so that the rest was not refuted.
	limited bool
	// quick leaves out the exact search.
	quick bool
	// rough leaves what an exact search refutes as long as it is.
	rough bool
	// steps counts the decisions that exact searches of one phase tried, wide those of searches of many
	// phases at once.
	steps, wide int
	// last is how many the longest search of the last phase tried; each is how many all of one kind may try,
	// 0 for the usual budget.
	last, each int
	// reach is the width up to which a box is searched exactly, all of its phases at once.
	reach int64
	// capped tells that an exact search reached its cap, or that all of them would.
	capped bool
	// field is the box without turns that is being refuted part by part, entered how many decisions were
	// tried before it.
	field   phases
	entered int
	// ask, where it is not nil, asks the bounds for their answer alone: what is found has no breaches.
	ask *asker
}

// refute returns the breaches that together refute every phase of the box, or ok=false where some phase
// survives or the budget ran out.
func (s *search) refute(box phases) (found []refutation, ok bool) {
	s.begin(box)
	if len(explore([]cell{{box, divisible(s.policy)}}, s.look)) > 0 {
		return nil, false
	}
	if !s.rough {
		for i := range s.found {
			s.found[i].shorten()
		}
	}
	return s.found, true
}

// begin prepares the search of a box.
func (s *search) begin(box phases) {
	s.boxes, s.work = 1, maxWork
	if s.most > 0 {
		s.work = s.most
	}
	if box.from == box.to && !ranged(s.policy) && s.policy.BanTo == 0 && s.policy.TTLTo == 0 {
		s.beginnings = []*group{s.group}
		return
	}
	s.boxes = mostBoxes
	if s.few > 0 {
		s.boxes = s.few
	}
	n, late := 0, int64(0)
	for _, h := range s.group.parts {
		n += len(h.all)
		for i := range h.all {
			late = max(late, h.all[i].e-h.all[i].s)
		}
	}
	s.work = max(s.work, leastWhole*(n+1))
	s.reach = min(late, int64(s.policy.Slot())/2)
	if !s.begun {
		s.list(box, n)
	}
}

// list lists the beginnings of the group, and the turns inside a box, of its n observations.
func (s *search) list(box phases, n int) {
	s.beginnings, s.turns, s.begun = []*group{s.group}, nil, true
	// Else what is left out of a beginning may have made it what it is.
	if !keepsItsBeginning(s.policy) && s.policy.Align != spec.AlignFirst {
		s.beginnings = beginningsOf(s.group, counted(spec.Limit{s.policy}))
	}
	if box.from != box.to && s.policy.PerTo == 0 && n <= exactLimit {
		s.turns = turnsOf(s.group.parts, int64(s.policy.Slot()), box)
	}
}

// The most boxes of a search, and how often the whole group may be judged at least.
const (
	mostBoxes  = 1 << 16
	leastWhole = 64
)

// The first observations of a partition that are judged apart: each time so many times as many.
const (
	leastBeginning = 4
	longerBy       = 8
)

// beginningsOf returns what is known for certain of the first few observations of each partition, of more,
// and so on, and last the group itself. all tells that denied requests count.
func beginningsOf(g *group, all bool) []*group {
	most := 0
	for _, h := range g.parts {
		most = max(most, len(h.all))
	}
	var out []*group
	for n := leastBeginning; 2*n <= most || n == leastBeginning && n < most; n *= longerBy {
		b := &group{parts: make([]*history, len(g.parts))}
		for i, h := range g.parts {
			b.parts[i] = h.beginning(n, all)
		}
		out = append(out, b)
	}
	return append(out, g)
}

// cell is a box of phases and a policy whose rate and burst may be ranges.
type cell struct {
	phases
	policy spec.Policy
}

// look refutes one box as a whole, or divides it. It stops where one phase is found that explains all.
func (s *search) look(b cell) (halves []cell, stop bool) {
	if s.boxes <= 0 || s.work <= 0 {
		s.limited = true
		return nil, true
	}
	s.boxes--
	if r, ok := s.judge(b); ok {
		return s.add(r)
	}
	if s.hopeless(b.phases) {
		s.capped = true
		return nil, true
	}
	open := b.policy.RateTo > 0 || b.policy.BurstTo > 0 || b.policy.PerTo > 0
	switch {
	case open:
	case b.from == b.to || timeless(b.policy) && s.turns.alike(s.policy, b.phases):
		if r, ok := s.exactly(b); ok {
			s.reach = max(s.reach, 2*(b.to-b.from)+1) // the neighbours may go together
			return s.add(r)
		}
		if b.policy.BanTo == 0 && b.policy.TTLTo == 0 {
			return nil, true
		}
	default:
		if s.survives(b) {
			return nil, true
		}
		if r, ok := s.together(b); ok {
			return s.add(r)
		}
	}
	return halved(s.halves(b))
}

// hopeless tells whether the exact searches of a box would take many times their budget, as far as the part
// of the same field tells that is refuted: its parts are as much alike as phases can be, and judged in their
// order.
func (s *search) hopeless(b phases) bool {
	if s.field.from > b.from || s.field.to < b.to || s.field.from == s.field.to {
		s.field, s.entered = phases{}, s.tried()
		if s.turns.none(b) {
			s.field = b
		}
		return false
	}
	tried, done, left := float64(s.tried()-s.entered), float64(b.from-s.field.from),
		float64(s.field.to-b.from)
	most := float64(s.mostSteps())
	return tried > most/fieldTrial && left > fieldParts*float64(s.reach) &&
		tried*left > hopelessBudgets*most*done
}

// After a part of the budget, one in fieldTrial, a field is given up where what is left of it would take more
// than so many budgets, and is so many times as wide as what is searched at once.
const (
	fieldTrial      = 16
	fieldParts      = 1 << 10
	hopelessBudgets = 256
)

// survives tells whether one phase of the box does.
func (s *search) survives(b cell) bool {
	at := s.middle(b.phases)
	one := cell{phases{at, at}, b.policy}
	one.policy.BanTo, one.policy.TTLTo = 0, 0
	_, refuted := s.judge(one)
	if !refuted {
		_, refuted = s.exactly(one)
	}
	return !refuted
}

// halves divides a box: its ranges before its phases. ok=false where there is nothing to divide.
func (s *search) halves(b cell) (lower, upper cell, ok bool) {
	if lower, upper, ok := divide(b.policy); ok {
		if !s.fits(lower) || !s.fits(upper) {
			return b, b, false
		}
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
	one, other := b.cut(s.turns.split(b.phases))
	return cell{one, b.policy}, cell{other, b.policy}, true
}

func (s *search) add(r refutation) (none []cell, stop bool) {
	if s.ask == nil {
		s.found = append(s.found, r)
	}
	return nil, false
}

// middle returns a phase of the box that is likely to survive where any does.
func (s *search) middle(b phases) int64 {
	if s.policy.Fixed() && b.from < b.to {
		return s.turns.split(b)
	}
	return b.from + (b.to-b.from)/2
}

// widerInWindow tells whether the length of the windows of b leaves the last one of the recording more open
// than their phase does.
func (s *search) widerInWindow(b cell) bool {
	var end int64
	for _, h := range s.group.parts {
		if n := len(h.all); n > 0 { // else all that a stretch of windows had may belong to the next one
			end = max(end, h.all[n-1].s)
		}
	}
	return int64(b.policy.PerTo-b.policy.Rate.Per)*(end/int64(b.policy.Rate.Per)+1) >= b.to-b.from
}

// judge asks the bounds of every partition whether they refute the whole box.
func (s *search) judge(b cell) (refutation, bool) {
	bd := newBound(b.policy, b.from, b.to)
	if s.beginnings == nil {
		s.beginnings = []*group{s.group}
	}
	for k, g := range s.beginnings {
		for i, h := range g.parts {
			if s.judged(k, i) {
				continue
			}
			s.work -= len(h.all)
			if s.ask != nil {
				if s.ask.refutes(h, bd, s.mode) {
					return refutation{part: i}, true
				}
				continue
			}
			if br := judgeOne(h, bd, s.mode); br != nil {
				return refutation{part: i, breach: br}, true
			}
		}
	}
	return refutation{}, false
}

// judged tells whether a beginning of a partition is no longer than the one before.
func (s *search) judged(beginning, part int) bool {
	return beginning > 0 && s.beginnings[beginning-1].parts[part] == s.beginnings[beginning].parts[part]
}

// timeless tells whether phases that are alike judge alike: nothing but the order of the decisions, and the
// windows that they lie in, matters to the policy. Else a request may have to be decided so long after
// another one that of these phases some have it in one window, and some in the next.
func timeless(p spec.Policy) bool { return p.Ban == 0 && p.TTL == 0 && !p.Completes() }

// judgeOne asks one bound both questions that the mode allows.
func judgeOne(h *history, b bound, mode verdict.Conformance) *breach {
	if mode != verdict.LowerBound {
		if br := b.over(h); br != nil {
			return br
		}
	}
	if mode != verdict.UpperBound {
		if out := unexplainedBy(h, b); len(out) > 0 {
			return underBreach(h, b, slices.Min(out))
		}
	}
	return nil
}

// fits tells whether the products of p, whose range is a part of the one that was declared, stay in bounds
// too: a rate in the middle may have no fraction as short as those at the ends.
func (s *search) fits(p spec.Policy) bool {
	if !p.Refills() {
		return true
	}
	var span, units int64
	for _, h := range s.group.parts {
		for i := range h.all {
			span = max(span, h.all[i].e, -h.all[i].s)
		}
		units = max(units, volume(h.all))
	}
	tight, loose := p.Ends()
	return newBucket(tight).fits(span, units) && newBucket(loose).fits(span, units)
}
