package check

import (
	"math/bits"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// windows are the windows [P + k*W, P + (k+1)*W) for every phase P in the closed box [from, to] and every
// length W in the closed box [size, sizeTo]. Whatever is said of them holds for all of these.
type windows struct{ from, to, size, sizeTo int64 }

// newWindows returns the windows of p for a box of phases.
func newWindows(p spec.Policy, from, to int64) windows {
	return windows{from, to, int64(p.Rate.Per), int64(p.LongestWindow())}
}

// first and last return the smallest and the largest window that the closed interval [s,e] may touch.
func (w windows) first(s int64) int64 {
	if s < w.to {
		return floorDiv(s-w.to, w.size)
	}
	return floorDiv(s-w.to, w.sizeTo)
}

func (w windows) last(e int64) int64 {
	if e < w.from {
		return floorDiv(e-w.from, w.sizeTo)
	}
	return floorDiv(e-w.from, w.size)
}

// earliest and latest return when window k begins at the earliest, and the instant before which it ends at
// the latest.
func (w windows) earliest(k int64) int64 {
	if k >= 0 {
		return w.from + k*w.size
	}
	hi, lo := bits.Mul64(uint64(-k), uint64(w.sizeTo))
	if hi > 0 || lo >= uint64(maxTime) { // see latest
		return minTime
	}
	return w.from - int64(lo)
}
func (w windows) latest(k int64) int64 {
	if k < 0 {
		return w.to + (k+1)*w.size
	}
	hi, lo := bits.Mul64(uint64(k+1), uint64(w.sizeTo))
	// as many of the shortest reach an instant, as many of the longest may be beyond all
	if hi > 0 || lo >= uint64(maxTime) {
		return maxTime
	}
	return w.to + int64(lo)
}

// least and most return the length at which k windows that follow the phase (or, for a negative k, come
// before it) reach the earliest and the latest instant.
func (w windows) least(k int64) int64 {
	if k < 0 {
		return w.sizeTo
	}
	return w.size
}

func (w windows) most(k int64) int64 {
	if k < 0 {
		return w.size
	}
	return w.sizeTo
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
