package check

import (
	"slices"

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

// survivors returns the boxes of at most the given width that are not refuted, ascending, neighbours joined.
func (s *search) survivors(box phases, width int64) (left []phases) {
	explore([]phases{box}, func(b phases) (halves []phases, stop bool) {
		if _, ok := s.judge(cell{b, s.policy}); ok {
			return nil, false
		}
		if b.to-b.from > width && !s.turns.alike(s.policy, b) {
			lower, upper := b.cut(b.middle())
			return halved(lower, upper, true)
		}
		if n := len(left); n > 0 && left[n-1].to+1 == b.from {
			left[n-1].to = b.to
		} else {
			left = append(left, b)
		}
		return nil, false
	})
	return left
}

// arc returns the shortest arc of a circle of the given size that holds all boxes, which ascend and do not
// overlap. Its end may lie beyond one turn.
func arc(boxes []phases, size int64) phases {
	widest, after := int64(-1), 0
	for i, b := range boxes {
		next := boxes[0].from + size
		if i+1 < len(boxes) {
			next = boxes[i+1].from
		}
		if gap := next - b.to; gap > widest {
			widest, after = gap, i
		}
	}
	turned := append(slices.Clone(boxes[after+1:]), boxes[:after+1]...)
	out := phases{turned[0].from, turned[len(turned)-1].to}
	if out.to < out.from {
		out.to += size
	}
	return out
}
