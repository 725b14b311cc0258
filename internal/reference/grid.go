package reference

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"time"
)

// grid says where windows begin.
type grid struct {
	window, phase time.Duration
	// first: a window begins with a request that finds none open.
	first bool
}

// newGrid returns the grid of p. An unknown alignment has phase 0, a range of phases the first of them.
func newGrid(p spec.Policy) grid {
	if c := p.Calendar(); !c.IsZero() { // dated pads its windows
		return grid{window: c.Longest()}
	}
	return grid{window: p.Rate.Per, phase: p.PhaseFrom, first: p.Align == spec.AlignFirst}
}

// into returns how old the window is at the instant at, 0 <= into < window. It is 0 for windows that begin
// with a request.
func (g grid) into(at time.Duration) time.Duration {
	if g.first {
		return 0
	}
	return ((at%g.window-g.phase)%g.window + g.window) % g.window
}
