package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// The phase is measured on recordings of up to phaseLimit observations, to a phaseParts-th of the window.
const (
	phaseLimit = 20_000
	phaseParts = 1 << 9
)

// phase returns the window phases that the partition does not refute, in nanoseconds since the start of the
// recording: the shortest interval that holds them all, which may reach beyond one window. Unset where the
// phase is known or nothing of it is refuted.
func (g gauge) phase(pol spec.Policy) verdict.Interval {
	size := int64(longestSlot(pol))
	if !pol.Windowed() || pol.Align == spec.AlignFirst || g.box.from == g.box.to ||
		len(g.h.all) > phaseLimit {
		return verdict.Interval{}
	}
	s := &search{policy: pol, mode: g.c.o.Conformance, group: &group{parts: []*history{g.h}}, quick: true,
		ask: g.ask}
	s.begin(g.box)
	left := s.survivors(g.box, max((g.box.to-g.box.from)/phaseParts, 1))
	whole := g.box.to-g.box.from >= size-1
	if len(left) == 0 || whole && len(left) == 1 && left[0] == g.box {
		return verdict.Interval{}
	}
	box := phases{left[0].from, left[len(left)-1].to}
	if whole { // the box is a circle: leave out its widest refuted arc
		box = arc(left, size)
	}
	return verdict.Interval{Lo: float64(box.from), Hi: float64(box.to), LoSet: true, HiSet: true}
}
