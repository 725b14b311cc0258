package check

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// The length of a window is sought between an eighth and eight times the declared length, to a windowParts-th
// of it. Only the first WindowEvents observations of a partition are read.
const (
	windowReach  = 8
	windowParts  = 1 << 11
	WindowEvents = 4096
)

// Window returns the shortest interval that holds all lengths of window, in nanoseconds, that the partition
// does not refute with the quota held. The phase of windows that are aligned to a clock is left open, since
// another length has another phase.
func (g Gauge) Window(pol spec.Policy) result.Interval {
	pol.PerTo = 0
	per := int64(pol.Rate.Per)
	lo, hi := max(per/windowReach, 1), per*windowReach
	if per > history.MaxTime/64 || len(g.History.All) == 0 {
		return result.Interval{}
	}
	s := windowSearch{Gauge: g, pol: pol,
		h:    g.History.Beginning(WindowEvents, search.Counted(spec.Limit{pol})),
		mode: g.Case.O.Conformance, precision: max(per/windowParts, 1)}
	whole := lengths{sizes: history.Interval{From: lo, To: hi}}
	if pol.Windowed() && pol.Align != spec.AlignFirst {
		whole.phases = history.Interval{From: 0, To: hi - 1}
		if pol.Align == spec.AlignPhase {
			whole.phases = g.Box
		}
	}
	shortest := s.end(whole, false)
	if shortest > hi { // no length explains the recording
		return result.Interval{Lo: float64(hi), Hi: float64(lo), LoSet: true, HiSet: true}
	}
	longest := s.end(whole, true)
	return result.Interval{Lo: float64(shortest), LoSet: shortest > lo, Hi: float64(longest),
		HiSet: longest < hi}
}

// lengths is a box of window lengths and phases.
type lengths struct {
	sizes  history.Interval
	phases history.Interval
}

// last returns the part of the box with only its longest (or shortest) length.
func (b lengths) last(longest bool) lengths {
	if longest {
		b.sizes.From = b.sizes.To
	}
	b.sizes.To = b.sizes.From
	return b
}

// windowSearch looks for the shortest or the longest window that a history does not refute.
type windowSearch struct {
	Gauge
	pol       spec.Policy
	h         *history.History
	mode      result.Conformance
	precision int64
	// longest: the longest length is sought. best is the best length so far. budget is how many boxes may
	// still be judged.
	longest bool
	best    int64
	budget  int
}

// end returns the shortest (or longest) length of a box that is not refuted, to the precision. It lies beyond
// the box if all lengths are refuted.
func (s *windowSearch) end(b lengths, longest bool) int64 {
	s.longest, s.best = longest, b.sizes.To+1
	s.budget = s.leastBoxes()
	work := windowWork
	if s.broken {
		work = brokenWindowWork
	}
	if !s.Case.Frugal {
		s.budget = max(s.Case.share(work, len(s.Gauge.History.All))/(len(s.h.All)+64), s.budget)
	}
	if longest {
		s.best = b.sizes.From - 1
	}
	if last := b.last(longest); limiter.Anchored(s.pol) && !s.refutes(last) { // the last length is the answer
		return last.sizes.From
	}
	Explore([]lengths{b}, s.look)
	return s.best
}

// leastBoxes is how many boxes are judged at least. Of a large recording of many small partitions it is
// fewer, or all of them together would take many times as long as one that is as large as they are.
func (s *windowSearch) leastBoxes() int {
	const most, least, large = 256, 64, 1 << 18 // large: observations
	return min(max(most*large/max(s.Case.Observations, 1), least), most)
}

// look improves the best length by those of a box, or divides the box. What the budget leaves open counts as
// not refuted.
func (s *windowSearch) look(b lengths) (halves []lengths, stop bool) {
	if s.longest && b.sizes.To <= s.best || !s.longest && b.sizes.From >= s.best {
		return nil, false
	}
	if s.budget--; s.budget >= 0 && s.refutes(b) {
		return nil, false
	}
	one, other, ok := s.halves(b)
	if s.longest {
		one, other = other, one
	}
	if ok && s.budget >= 0 {
		return Halved(one, other, true)
	}
	if s.best = b.sizes.From; s.longest {
		s.best = b.sizes.To
	}
	return nil, false
}

// halves divides a box across the side that leaves the last window of the history more open. ok=false: both
// sides are as short as they need to be.
func (s *windowSearch) halves(b lengths) (shorter, longer lengths, ok bool) {
	size, phase := b.sizes.To-b.sizes.From, b.phases.To-b.phases.From
	windows := s.h.All[len(s.h.All)-1].End/b.sizes.From + 1
	shorter, longer = b, b
	switch {
	case size > s.precision && size*min(windows, windowParts) >= phase:
		shorter.sizes, longer.sizes = b.sizes.Cut(b.sizes.From + size/2 + 1)
	case phase > s.precision:
		shorter.phases, longer.phases = b.phases.Cut(b.phases.From + phase/2 + 1)
	default:
		return b, b, false
	}
	return shorter, longer, true
}

// refutes tells whether the history refutes every length and phase of a box.
func (s *windowSearch) refutes(b lengths) bool {
	p := s.pol
	p.Rate.Per, p.PerTo = time.Duration(b.sizes.From), time.Duration(b.sizes.To)
	if b.sizes.From == b.sizes.To {
		p.PerTo = 0
	}
	if limiter.Anchored(p) {
		return len(RefuteAnchored(s.h, p, s.mode, anchoredBoxes).Found) > 0
	}
	return s.Ask.Refutes(s.h, s.bound(p, b.phases), s.mode)
}
