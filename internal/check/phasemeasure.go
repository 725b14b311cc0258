package check

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// The phase is measured on partitions of up to phaseLimit observations, to a phaseParts-th of the window. It
// is measured to a fewParts-th at least if more would take over phaseWork judged observations. Of more than
// fewPartitions partitions, each is measured to a coarser part, as no verdict depends on so many phases.
const (
	phaseLimit = 20_000
	phaseParts = 1 << 9
	fewParts   = 1 << 4
	phaseWork  = 1 << 24

	fewPartitions = 4
)

// phase returns the shortest interval that holds all window phases that the partition does not refute. Its
// unit is nanoseconds since the start of the recording, and it may reach beyond one window. Unset: the phase
// is known, or no phase is refuted.
func (g Gauge) phase(pol spec.Policy) result.Interval {
	size := int64(LongestSlot(pol))
	if !pol.Windowed() || pol.Align == spec.AlignFirst || g.Box.From == g.Box.To ||
		len(g.History.All) > phaseLimit {
		return result.Interval{}
	}
	s := &PhaseSearch{Policy: pol, Mode: g.Case.O.Conformance,
		Group: &Group{Parts: []*history.History{g.History}}, Quick: true,
		Scratch: g.Ask}
	s.Begin(g.Box)
	n := len(g.History.All)
	most := max(phaseParts/max(len(g.Case.Parts)/fewPartitions, 1), fewParts)
	parts := min(max(g.Case.share(phaseWork, n)/(n+1), fewParts), most)
	left := s.Survivors(g.Box, max((g.Box.To-g.Box.From)/int64(parts), 1))
	whole := g.Box.To-g.Box.From >= size-1
	if len(left) == 0 || whole && len(left) == 1 && left[0] == g.Box {
		return result.Interval{}
	}
	box := history.Interval{From: left[0].From, To: left[len(left)-1].To}
	if whole { // the box is a circle: leave out its widest refuted arc
		box = Arc(left, size)
	}
	return result.Interval{Lo: float64(box.From), Hi: float64(box.To), LoSet: true, HiSet: true}
}
