package identify

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Placed returns policy i of a limit with a phase that the recording does not refute; with the last such
// phase of several.
func (a Asker) Placed(tl *timeline.Timeline, limit spec.Limit, i int) spec.Policy {
	p, limit := limit[i], slices.Clone(limit)
	gone := func(q spec.Policy) bool {
		limit[i] = q
		return a.Refuted(tl, limit, result.Exact, false)
	}
	p.Align, p.PhaseFrom, p.PhaseTo = spec.AlignPhase, 0, 0
	cell := p.Rate.Per / phaseCells
	for j := time.Duration(phaseCells - 1); j > 0; j-- {
		q := p
		q.PhaseFrom, q.PhaseTo = j*cell, (j+1)*cell-1
		if !gone(q) {
			p = q
			break
		}
	}
	for range 12 { // to a 65,536th of the window
		first, second := p, p
		mid := p.PhaseFrom + (p.PhaseTo-p.PhaseFrom)/2
		first.PhaseTo, second.PhaseFrom = mid, mid
		if !gone(first) {
			if gone(second) {
				p = first
				continue
			}
			break
		}
		p = second
	}
	p.PhaseFrom += (p.PhaseTo - p.PhaseFrom) / 2
	p.PhaseTo = p.PhaseFrom
	return p
}

// phaseCells is how many parts of a window are tried as its phase.
const phaseCells = 16
