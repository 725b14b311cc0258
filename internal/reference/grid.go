package reference

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"time"
)

// grid is where windows begin.
type grid struct {
	window, phase time.Duration
	// first tells that a window begins with the request that found none open.
	first bool
}

// newGrid returns the grid of p. An unknown alignment has phase 0, a range of phases its first.
func newGrid(p spec.Policy) grid {
	return grid{window: p.Rate.Per, phase: p.PhaseFrom, first: p.Align == spec.AlignFirst}
}

// into returns how old the window is that the instant at lies in, 0 <= into < window; 0 for windows that
// begin with a request.
func (g grid) into(at time.Duration) time.Duration {
	if g.first {
		return 0
	}
	return ((at%g.window-g.phase)%g.window + g.window) % g.window
}
