// Package phases refutes boxes of window phases: where windows may begin anywhere, every instant at which
// they may begin must be refuted, each by some breach.
package phases

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Of returns the box of phases that a policy and a header leave open, and whether all partitions share
// one phase.
func Of(p spec.Policy, h timeline.Header) (box history.Interval, shared bool) {
	size := int64(LongestSlot(p))
	all := history.Interval{From: 0, To: size - 1}
	if !p.Windowed() || p.Align == spec.AlignFirst {
		return history.Interval{}, false
	}
	switch p.Align {
	case spec.AlignUnknown:
		return all, false
	case spec.AlignShared:
		return all, true
	case spec.AlignPhase:
		return narrow(history.Interval{From: int64(p.PhaseFrom), To: int64(p.PhaseTo)}, all), true
	}
	if h.Started.IsZero() || p.PerTo > 0 {
		return all, true
	}
	// Windows begin at multiples of the window since the epoch on the target's clock.
	begin := -(h.Started.UnixNano() % size)
	return narrow(history.Interval{From: begin - int64(h.WallError), To: begin + int64(h.WallError)}, all),
		true
}

// LongestSlot returns the longest that what p counts in can be: its window, or a slot of it.
func LongestSlot(p spec.Policy) time.Duration {
	if p.Slots > 1 {
		return p.Slot()
	}
	return p.LongestWindow()
}

// narrow returns box, or all phases where box is as wide as a window.
func narrow(box, all history.Interval) history.Interval {
	if box.To-box.From >= all.To {
		return all
	}
	return box
}

// Group is the partitions that share one phase.
type Group struct {
	Parts []*history.History
}

// Refutation is a breach in partition part of a group.
type Refutation struct {
	Part int
	*limiter.Breach
	// searched is the history in which an exact search found it, under the policy and its first phase; nil
	// for a bound.
	searched *history.History
	cell     Cell
}

// Search looks for a phase of the box that no partition of the group refutes.
type Search struct {
	Policy spec.Policy
	Mode   verdict.Conformance
	Group  *Group
	// Beginnings are those of the group, the shortest first and the whole last: what refutes a beginning
	// refutes the whole.
	Beginnings []*Group
	// Breakpoints are those of the group, listed where an exact search asks for them.
	Breakpoints Breakpoints
	// Boxes is how many boxes, and work how many observations, may still be judged; few the most boxes, where
	// it is not 0.
	Boxes, work, Few int
	// Most is how much work all boxes may take, 0 for all that there is; Bounded is how much they took.
	Most, Bounded int
	// Begun tells that beginnings and breakpoints are listed.
	Begun bool
	found []Refutation
	// Limited tells that the budget ran out, so that the rest was not refuted.
	Limited bool
	// Quick leaves out the exact search.
	Quick bool
	// Rough leaves what an exact search refutes as long as it is.
	Rough bool
	// Steps counts the decisions that exact searches of one phase tried, wide those of searches of many
	// phases at once.
	Steps, Wide int
	// last is how many the longest search of the last phase tried; each is how many all of one kind may try,
	// 0 for the usual budget.
	last, Each int
	// Reach is the width up to which a box is searched exactly, all of its phases at once.
	Reach int64
	// Capped tells that an exact search reached its cap, or that all of them would.
	Capped bool
	// plateau is the box without breakpoints that is being refuted part by part, entered how many decisions
	// were tried before it.
	plateau history.Interval
	entered int
	// Scratch, where it is not nil, asks the bounds for their answer alone, without breaches.
	Scratch *limiter.Scratch
}

// Refute returns the breaches that together refute every phase of the box, or ok=false where some phase
// survives or the budget ran out.
func (s *Search) Refute(box history.Interval) (found []Refutation, ok bool) {
	s.Begin(box)
	if len(Explore([]Cell{{box, limiter.Divisible(s.Policy)}}, s.look)) > 0 {
		return nil, false
	}
	if !s.Rough {
		for i := range s.found {
			s.found[i].shorten()
		}
	}
	return s.found, true
}

// Begin prepares the search of a box.
func (s *Search) Begin(box history.Interval) {
	s.Boxes, s.work = 1, MaxWork
	if s.Most > 0 {
		s.work = s.Most
	}
	if box.From == box.To && !limiter.Ranged(s.Policy) && s.Policy.BanTo == 0 && s.Policy.TTLTo == 0 {
		s.Beginnings = []*Group{s.Group}
		return
	}
	s.Boxes = MostBoxes
	if s.Few > 0 {
		s.Boxes = s.Few
	}
	n, late := 0, int64(0)
	for _, h := range s.Group.Parts {
		n += len(h.All)
		for i := range h.All {
			late = max(late, h.All[i].End-h.All[i].Start)
		}
	}
	s.work = max(s.work, LeastWhole*(n+1))
	s.Reach = min(late, int64(s.Policy.Slot())/2)
	if !s.Begun {
		s.list(box, n)
	}
}

// list lists the beginnings of the group, and the breakpoints inside a box, of its n observations.
func (s *Search) list(box history.Interval, n int) {
	s.Beginnings, s.Breakpoints, s.Begun = []*Group{s.Group}, nil, true
	// Else a request that a beginning leaves out may have made its start what it is.
	if !limiter.KeepsItsBeginning(s.Policy) && s.Policy.Align != spec.AlignFirst {
		s.Beginnings = beginningsOf(s.Group, search.Counted(spec.Limit{s.Policy}))
	}
	if box.From != box.To && s.Policy.PerTo == 0 && n <= search.MostEvents {
		s.Breakpoints = BreakpointsOf(s.Group.Parts, int64(s.Policy.Slot()), box)
	}
}

// The most boxes of a search, and how often the whole group may be judged at least.
const (
	MostBoxes  = 1 << 16
	LeastWhole = 64
)

// The first observations of a partition that are judged apart: each time so many times as many.
const (
	leastBeginning = 4
	longerBy       = 8
)

// beginningsOf returns what the first few observations of each partition surely show, then more of them,
// and so on, and last the group itself. all tells that denied requests count.
func beginningsOf(g *Group, all bool) []*Group {
	most := 0
	for _, h := range g.Parts {
		most = max(most, len(h.All))
	}
	var out []*Group
	for n := leastBeginning; 2*n <= most || n == leastBeginning && n < most; n *= longerBy {
		b := &Group{Parts: make([]*history.History, len(g.Parts))}
		for i, h := range g.Parts {
			b.Parts[i] = h.Beginning(n, all)
		}
		out = append(out, b)
	}
	return append(out, g)
}

// Cell is a box of phases and a policy whose rate and burst may be ranges.
type Cell struct {
	history.Interval
	Policy spec.Policy
}

// look refutes one box as a whole, or divides it. It stops where one phase is found that explains all.
func (s *Search) look(b Cell) (halves []Cell, stop bool) {
	if s.Boxes <= 0 || s.work <= 0 {
		s.Limited = true
		return nil, true
	}
	s.Boxes--
	if r, ok := s.Judge(b); ok {
		return s.add(r)
	}
	if s.hopeless(b.Interval) {
		s.Capped = true
		return nil, true
	}
	if !limiter.Ranged(b.Policy) {
		if r, done := s.searchPhases(b); r != nil {
			return s.add(*r)
		} else if done {
			return nil, true
		}
	}
	return Halved(s.Halves(b))
}

// searchPhases searches a box exactly: under one phase that stands for all that are alike, or under all at
// once. done: the box is not refuted, and need not be divided.
func (s *Search) searchPhases(b Cell) (r *Refutation, done bool) {
	if b.From == b.To || timeless(b.Policy) && s.Breakpoints.Alike(s.Policy, b.Interval) {
		if r, ok := s.Exactly(b); ok {
			s.Reach = max(s.Reach, 2*(b.To-b.From)+1) // the neighbours may go together
			return &r, true
		}
		return nil, b.Policy.BanTo == 0 && b.Policy.TTLTo == 0
	}
	if s.survives(b) {
		return nil, true
	}
	if r, ok := s.Together(b); ok {
		return &r, true
	}
	return nil, false
}

// hopeless tells whether the exact searches of a box would take many times their budget, as far as the part
// of the same field tells that is refuted: its parts are as much alike as phases can be, and judged in their
// order.
func (s *Search) hopeless(b history.Interval) bool {
	if s.plateau.From > b.From || s.plateau.To < b.To || s.plateau.From == s.plateau.To {
		s.plateau, s.entered = history.Interval{}, s.Tried()
		if s.Breakpoints.none(b) {
			s.plateau = b
		}
		return false
	}
	tried, done, left := float64(s.Tried()-s.entered), float64(b.From-s.plateau.From),
		float64(s.plateau.To-b.From)
	most := float64(s.mostSteps())
	return tried > most/fieldTrial && left > fieldParts*float64(s.Reach) &&
		tried*left > hopelessBudgets*most*done
}

// After a part of the budget, one in fieldTrial, a field is given up where its rest would take more
// than so many budgets, and is so many times as wide as a box that is searched at once.
const (
	fieldTrial      = 16
	fieldParts      = 1 << 10
	hopelessBudgets = 256
)

// survives tells whether one phase of the box does.
func (s *Search) survives(b Cell) bool {
	at := s.middle(b.Interval)
	one := Cell{history.Interval{From: at, To: at}, b.Policy}
	one.Policy.BanTo, one.Policy.TTLTo = 0, 0
	_, refuted := s.Judge(one)
	if !refuted {
		_, refuted = s.Exactly(one)
	}
	return !refuted
}

// Halves divides a box: its ranges before its phases. ok=false where there is nothing to divide.
func (s *Search) Halves(b Cell) (lower, upper Cell, ok bool) {
	if lower, upper, ok := limiter.Divide(b.Policy); ok {
		if !s.fits(lower) || !s.fits(upper) {
			return b, b, false
		}
		return Cell{b.Interval, lower}, Cell{b.Interval, upper}, true
	}
	if b.Policy.PerTo > 0 && s.widerInWindow(b) {
		shorter, longer := limiter.HalveWindow(b.Policy)
		return Cell{b.Interval, shorter}, Cell{b.Interval, longer}, true
	}
	if lower, upper, ok := limiter.DivideTimes(b.Policy); ok && b.From == b.To {
		return Cell{b.Interval, lower}, Cell{b.Interval, upper}, true
	}
	if b.From == b.To || b.Policy.RateTo > 0 || b.Policy.BurstTo > 0 {
		return b, b, false
	}
	one, other := b.Cut(s.Breakpoints.Split(b.Interval))
	return Cell{one, b.Policy}, Cell{other, b.Policy}, true
}

func (s *Search) add(r Refutation) (none []Cell, stop bool) {
	if s.Scratch == nil {
		s.found = append(s.found, r)
	}
	return nil, false
}

// middle returns a phase of the box that is likely to survive where any does.
func (s *Search) middle(b history.Interval) int64 {
	if s.Policy.Fixed() && b.From < b.To {
		return s.Breakpoints.Split(b)
	}
	return b.From + (b.To-b.From)/2
}

// widerInWindow tells whether the length of the windows of b leaves the last one of the recording more open
// than their phase does.
func (s *Search) widerInWindow(b Cell) bool {
	var end int64
	for _, h := range s.Group.Parts {
		if n := len(h.All); n > 0 { // else all that a stretch of windows had may belong to the next one
			end = max(end, h.All[n-1].Start)
		}
	}
	return int64(b.Policy.PerTo-b.Policy.Rate.Per)*(end/int64(b.Policy.Rate.Per)+1) >= b.To-b.From
}

// Judge asks the bounds of every partition whether they refute the whole box.
func (s *Search) Judge(b Cell) (Refutation, bool) {
	bd := limiter.NewBound(b.Policy, b.From, b.To)
	if s.Beginnings == nil {
		s.Beginnings = []*Group{s.Group}
	}
	for k, g := range s.Beginnings {
		for i, h := range g.Parts {
			if s.judged(k, i) {
				continue
			}
			s.work -= len(h.All)
			s.Bounded += len(h.All)
			if r, ok := s.judgeOne(h, bd); ok {
				r.Part = i
				return r, true
			}
		}
	}
	return Refutation{}, false
}

// judgeOne asks a bound of one history, for the answer alone where nobody wants the breach.
func (s *Search) judgeOne(h *history.History, bd limiter.Bound) (Refutation, bool) {
	if s.Scratch != nil {
		return Refutation{}, s.Scratch.Refutes(h, bd, s.Mode)
	}
	br := JudgeOne(h, bd, s.Mode)
	return Refutation{Breach: br}, br != nil
}

// judged tells whether a beginning of a partition is no longer than the one before.
func (s *Search) judged(beginning, part int) bool {
	return beginning > 0 && s.Beginnings[beginning-1].Parts[part] == s.Beginnings[beginning].Parts[part]
}

// timeless tells whether phases that are alike judge alike: nothing but the order of the decisions, and the
// windows that they lie in, matters to the policy. Else a request may have to be decided so long after
// another one that of these phases some have it in one window, and some in the next.
func timeless(p spec.Policy) bool { return p.Ban == 0 && p.TTL == 0 && !p.Completes() }

// JudgeOne asks one bound both questions that the mode allows.
func JudgeOne(h *history.History, b limiter.Bound, mode verdict.Conformance) *limiter.Breach {
	if mode != verdict.LowerBound {
		if br := b.Over(h); br != nil {
			return br
		}
	}
	if mode != verdict.UpperBound {
		if out := limiter.UnexplainedBy(h, b); len(out) > 0 {
			return limiter.UnderBreach(h, b, slices.Min(out))
		}
		return limiter.NoFirst(h, b)
	}
	return nil
}

// fits tells whether the products of p, whose range is a part of the one that was declared, stay in bounds
// too: a rate in the middle may have no fraction as short as those at the ends.
func (s *Search) fits(p spec.Policy) bool {
	if !p.Refills() {
		return true
	}
	var span, units int64
	for _, h := range s.Group.Parts {
		for i := range h.All {
			span = max(span, h.All[i].End, -h.All[i].Start)
		}
		units = max(units, history.Volume(h.All))
	}
	tight, loose := p.Ends()
	return limiter.NewBucket(tight).Fits(span, units) && limiter.NewBucket(loose).Fits(span, units)
}
