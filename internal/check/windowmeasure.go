package check

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// The length of a window is sought between an eighth and eight times the declared one, to a windowParts-th of
// it, on the first windowEvents observations of a partition.
const (
	windowReach  = 8
	windowParts  = 1 << 11
	windowEvents = 4096
)

// window returns the lengths of window, in nanoseconds, that the partition does not refute with the quota
// held: the shortest interval that holds them all. Where windows are aligned to a clock their phase is left
// open, since another length has another one.
func (g gauge) window(pol spec.Policy) verdict.Interval {
	pol.PerTo = 0
	per := int64(pol.Rate.Per)
	lo, hi := max(per/windowReach, 1), per*windowReach
	if per > maxTime/64 || len(g.h.all) == 0 {
		return verdict.Interval{}
	}
	s := windowSearch{gauge: g, pol: pol, h: g.h.beginning(windowEvents, counted(spec.Limit{pol})),
		mode: g.c.o.Conformance, precision: max(per/windowParts, 1)}
	whole := lengths{sizes: phases{lo, hi}}
	if pol.Windowed() && pol.Align != spec.AlignFirst {
		whole.phases = phases{0, hi - 1}
		if pol.Align == spec.AlignPhase {
			whole.phases = g.box
		}
	}
	shortest := s.end(whole, false)
	if shortest > hi { // no length explains the recording
		return verdict.Interval{Lo: float64(hi), Hi: float64(lo), LoSet: true, HiSet: true}
	}
	longest := s.end(whole, true)
	return verdict.Interval{Lo: float64(shortest), LoSet: shortest > lo, Hi: float64(longest),
		HiSet: longest < hi}
}

// lengths is a box of window lengths and phases.
type lengths struct {
	sizes  phases
	phases phases
}

// windowSearch looks for the shortest or the longest window that a history does not refute.
type windowSearch struct {
	gauge
	pol       spec.Policy
	h         *history
	mode      verdict.Conformance
	precision int64
	// longest tells which end is sought, best is the best length so far, budget how many boxes may still be
	// judged.
	longest bool
	best    int64
	budget  int
}

// end returns the shortest (longest) length of a box that is not refuted, to the precision; beyond the box
// where all are.
func (s *windowSearch) end(b lengths, longest bool) int64 {
	s.longest, s.best = longest, b.sizes.to+1
	s.budget = max(s.c.share(windowWork, len(s.gauge.h.all))/(len(s.h.all)+64), 256)
	if longest {
		s.best = b.sizes.from - 1
	}
	explore([]lengths{b}, s.look)
	return s.best
}

// look improves the best length by those of a box, or divides it. What the budget leaves open counts as not
// refuted.
func (s *windowSearch) look(b lengths) (halves []lengths, stop bool) {
	if s.longest && b.sizes.to <= s.best || !s.longest && b.sizes.from >= s.best {
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
		return halved(one, other, true)
	}
	if s.best = b.sizes.from; s.longest {
		s.best = b.sizes.to
	}
	return nil, false
}

// halves divides a box across the side that leaves the last window of the history more open; ok=false where
// both sides are as short as they need to be.
func (s *windowSearch) halves(b lengths) (shorter, longer lengths, ok bool) {
	size, phase := b.sizes.to-b.sizes.from, b.phases.to-b.phases.from
	windows := (s.h.all[len(s.h.all)-1].e/b.sizes.from + 1) * max(s.pol.Slots, 1)
	shorter, longer = b, b
	switch {
	case size > s.precision && size*min(windows, windowParts) >= phase:
		shorter.sizes, longer.sizes = b.sizes.cut(b.sizes.from + size/2 + 1)
	case phase > s.precision:
		shorter.phases, longer.phases = b.phases.cut(b.phases.from + phase/2 + 1)
	default:
		return b, b, false
	}
	return shorter, longer, true
}

// refutes tells whether the history refutes every length and phase of a box.
func (s *windowSearch) refutes(b lengths) bool {
	p := s.pol
	p.Rate.Per, p.PerTo = time.Duration(b.sizes.from), time.Duration(b.sizes.to)
	if b.sizes.from == b.sizes.to {
		p.PerTo = 0
	}
	if anchored(p) {
		return len(refuteAnchored(s.h, p, s.mode, anchoredBoxes).found) > 0
	}
	return s.ask.refutes(s.h, s.bound(p, b.phases), s.mode)
}
