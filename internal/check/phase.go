package check

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// PhasesOf returns the box of phases that a policy and a header leave open, in nanoseconds. shared: all
// partitions have the same phase.
func PhasesOf(p spec.Policy, h timeline.Header) (box history.Interval, shared bool) {
	size := int64(p.LongestWindow())
	all := history.Interval{From: 0, To: size - 1}
	if !p.Windowed() || p.Align == spec.AlignFirst {
		return history.Interval{}, false
	}
	switch p.Align {
	case spec.AlignCalendar: // on its padded clock
		at := int64(-p.Calendar().Padded(time.Duration(h.Started.UnixNano())) % p.LongestWindow())
		return history.Interval{From: at, To: at}, true
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

// narrow returns box, or all phases if box is as wide as a window.
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

// Refutation is a breach in the partition with index Part of a group.
type Refutation struct {
	Part int
	*limiter.Breach
	// searched is the history in which an exact search found the breach, under the policy and first phase of
	// cell. nil: a bound found it.
	searched *history.History
	cell     Cell
}

// PhaseSearch looks for a phase of the box that no partition of the group refutes.
type PhaseSearch struct {
	Policy spec.Policy
	Mode   result.Conformance
	Group  *Group
	// Beginnings are beginnings of the group, the shortest first and the whole group last. What refutes a
	// beginning refutes the whole.
	Beginnings []*Group
	// Breakpoints are those of the group, or nil. The exact search uses them.
	Breakpoints Breakpoints
	// Boxes is how many boxes may still be judged, work how many observations. Few, unless 0, is the most
	// boxes.
	Boxes, work, Few int
	// Most is how many observations all boxes may take, 0: the usual number. Bounded is how many they took.
	Most, Bounded int
	// Begun: Beginnings and Breakpoints are listed.
	Begun bool
	found []Refutation
	// Limited: the budget ran out, so the rest was not refuted.
	Limited bool
	// Quick leaves out the exact search.
	Quick bool
	// Rough leaves what an exact search refutes at its full length.
	Rough bool
	// Steps is the work of the exact searches of one phase, Wide that of the searches of many phases at once.
	Steps, Wide int
	// last is the work of the longest search of the last phase. Each is how much work all searches of one
	// kind may take; 0: the usual budget.
	last, Each int
	// Reach is the width up to which all phases of a box are searched at once, in nanoseconds.
	Reach int64
	// Capped: an exact search reached its cap, or all of them would.
	Capped bool
	// plateau is the box without breakpoints that is being refuted part by part. entered is the work tried
	// before it.
	plateau history.Interval
	entered int
	// Scratch, unless nil, asks the bounds for an answer without breaches.
	Scratch *limiter.Scratch
}

// Refute returns breaches that together refute every phase of the box. ok=false: some phase survives, or the
// budget ran out (Limited).
func (s *PhaseSearch) Refute(box history.Interval) (found []Refutation, ok bool) {
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

// Begin prepares the search of a box: its budget, beginnings and breakpoints.
func (s *PhaseSearch) Begin(box history.Interval) {
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
	s.Reach = min(late, int64(s.Policy.ShortestWindow())/2)
	if !s.Begun {
		s.list(box, n)
	}
}

// list lists the beginnings of the group, and the breakpoints inside a box. n is the number of its
// observations.
func (s *PhaseSearch) list(box history.Interval, n int) {
	s.Beginnings, s.Breakpoints, s.Begun = []*Group{s.Group}, nil, true
	// The state at the start must not depend on requests that a beginning leaves out.
	if !limiter.KeepsItsBeginning(s.Policy) && s.Policy.Align != spec.AlignFirst {
		s.Beginnings = beginningsOf(s.Group, search.Counted(spec.Limit{s.Policy}))
	}
	if box.From != box.To && s.Policy.PerTo == 0 && n <= search.MostEvents {
		s.Breakpoints = BreakpointsOf(s.Group.Parts, int64(s.Policy.ShortestWindow()), box)
	}
}

// The most boxes of a search, and how often, at least, the whole group may be judged.
const (
	MostBoxes  = 1 << 16
	LeastWhole = 64
)

// The length of the first beginning of a partition, and how many times longer each next one is.
const (
	leastBeginning = 4
	longerBy       = 8
)

// beginningsOf returns what the first few observations of each partition surely show, then longer beginnings,
// and last the group itself. all: denied requests count.
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

// Cell is a box of phases, with a policy whose rate, window and burst may be ranges.
type Cell struct {
	history.Interval
	Policy spec.Policy
}

// look refutes a cell as a whole, or divides it. It stops where one phase explains all.
func (s *PhaseSearch) look(b Cell) (halves []Cell, stop bool) {
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
	if b.From == b.To && s.Mode != "" && s.Mode != result.Exact && limiter.Cornered(b.Policy) {
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

// searchPhases searches a cell exactly: under one phase that stands for all that are alike, or under all at
// once. done: the cell is not refuted and need not be divided.
func (s *PhaseSearch) searchPhases(b Cell) (r *Refutation, done bool) {
	if b.From == b.To || timeless(b.Policy) && s.Breakpoints.Alike(s.Policy, b.Interval) {
		if r, ok := s.Exactly(b); ok {
			s.Reach = max(s.Reach, 2*(b.To-b.From)+1) // the neighbours may be refuted together
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

// hopeless tells whether the exact searches of the plateau would take many times their budget. It
// extrapolates from the part of the plateau that is refuted. The parts of a plateau are alike, and they are
// judged in order.
func (s *PhaseSearch) hopeless(b history.Interval) bool {
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

// hopeless judges after 1/fieldTrial of the budget. It gives a plateau up if its rest needs hopelessBudgets
// budgets, and is more than fieldParts times as wide as Reach.
const (
	fieldTrial      = 16
	fieldParts      = 1 << 10
	hopelessBudgets = 256
)

// survives tells whether one phase of the cell is known to survive.
func (s *PhaseSearch) survives(b Cell) bool {
	at := s.middle(b.Interval)
	one := Cell{history.Interval{From: at, To: at}, b.Policy}
	one.Policy.BanTo, one.Policy.TTLTo = 0, 0
	_, refuted := s.Judge(one)
	if !refuted {
		_, refuted = s.Exactly(one)
	}
	return !refuted
}

// Halves divides a cell: its ranges before its phases. ok=false: there is nothing to divide.
func (s *PhaseSearch) Halves(b Cell) (lower, upper Cell, ok bool) {
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

func (s *PhaseSearch) add(r Refutation) (none []Cell, stop bool) {
	if s.Scratch == nil {
		s.found = append(s.found, r)
	}
	return nil, false
}

// middle returns a phase of the box that is likely to survive if any does.
func (s *PhaseSearch) middle(b history.Interval) int64 {
	if s.Policy.Fixed() && b.From < b.To {
		return s.Breakpoints.Split(b)
	}
	return b.From + (b.To-b.From)/2
}

// widerInWindow tells whether the last window of the recording is made more uncertain by the length of the
// windows than by their phase.
func (s *PhaseSearch) widerInWindow(b Cell) bool {
	var end int64
	for _, h := range s.Group.Parts {
		if n := len(h.All); n > 0 { // without events, all of them may belong to the next stretch
			end = max(end, h.All[n-1].Start)
		}
	}
	return int64(b.Policy.PerTo-b.Policy.Rate.Per)*(end/int64(b.Policy.Rate.Per)+1) >= b.To-b.From
}

// Judge asks the bounds of every partition whether they refute the whole cell. false: none does.
func (s *PhaseSearch) Judge(b Cell) (Refutation, bool) {
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

// judgeOne asks a bound about one history. With Scratch it returns no breach.
func (s *PhaseSearch) judgeOne(h *history.History, bd limiter.Bound) (Refutation, bool) {
	if s.Scratch != nil {
		return Refutation{}, s.Scratch.Refutes(h, bd, s.Mode)
	}
	br := JudgeOne(h, bd, s.Mode)
	return Refutation{Breach: br}, br != nil
}

// judged tells whether a beginning of a partition is as long as the beginning before, so that it was judged
// already.
func (s *PhaseSearch) judged(beginning, part int) bool {
	return beginning > 0 && s.Beginnings[beginning-1].Parts[part] == s.Beginnings[beginning].Parts[part]
}

// timeless tells whether phases without a breakpoint between them give the same answers in the exact search.
// That holds where only the order of decisions and their windows matter. Otherwise one request may have to be
// decided long after another, in the same window for some phases and in the next for others.
func timeless(p spec.Policy) bool { return p.Ban == 0 && p.TTL == 0 && !p.Completes() }

// JudgeOne asks one bound both questions, or the one that the mode allows. It returns a breach or nil.
func JudgeOne(h *history.History, b limiter.Bound, mode result.Conformance) *limiter.Breach {
	if mode != result.LowerBound {
		if br := b.Over(h); br != nil {
			return br
		}
	}
	if mode != result.UpperBound {
		if out := limiter.UnexplainedBy(h, b); len(out) > 0 {
			return limiter.UnderBreach(h, b, slices.Min(out))
		}
		if br := limiter.NoFirst(h, b); br != nil {
			return br
		}
	}
	if mode == "" || mode == result.Exact {
		return limiter.Banned(h, b)
	}
	return nil
}

// fits tells whether the products of p stay in bounds. p is a part of the declared range: a rate in the
// middle may not reduce to as short a fraction as the ends.
func (s *PhaseSearch) fits(p spec.Policy) bool {
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
