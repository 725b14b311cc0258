package identify

import (
	"math"
	"time"
)

// Box is a closed range of policies of one kind. T1 and T2 are times per unit (buckets) or windows (all
// others).
type Box struct {
	Q1, Q2 int64
	T1, T2 time.Duration
}

// exact tells whether b is as narrow as the judge divides boxes: one quota, and times within a hundredth.
func (b Box) exact() bool { return b.Q1 == b.Q2 && b.narrow() }

// Single tells whether b is known as well as an answer must be: the quota to 2 %, and the time so that what
// is named is near enough to both ends. Or the ends are within slack and units, which no experiment tells.
func (b Box) Single(slack time.Duration, units int64) bool {
	near := func() bool {
		t := float64(b.Conventional().T1)
		return float64(b.T2) <= t*exactness && t <= float64(b.T1)*exactness
	}
	return b.Q2-b.Q1 <= max(min(units, b.Q1/4), b.Q1/50) && (b.T2-b.T1 <= slack || near())
}

// point tells whether b is one policy.
func (b Box) point() bool { return b.Q1 == b.Q2 && b.T1 == b.T2 }

func (b Box) narrow() bool { return float64(b.T2) <= float64(b.T1)*1.01 }

// Size is how much of b is open, as a logarithm.
func (b Box) Size() float64 {
	return math.Log(float64(b.Q2)/float64(b.Q1)) + math.Log(float64(b.T2)/float64(b.T1))
}

// exactness is the largest ratio between the named time and any time that is left. resolution is the largest
// between the ends of these.
const (
	exactness  = 1.02
	Resolution = exactness * exactness
)

// Inner returns the policies of b that are near enough to both ends for an answer; b where there are none.
func (b Box) Inner() Box {
	in := b
	in.T1 = max(b.T1, time.Duration(float64(b.T2)/exactness))
	if in.T2 = min(b.T2, time.Duration(float64(b.T1)*exactness)); in.T1 > in.T2 ||
		float64(b.T2) > float64(b.T1)*Resolution {
		return b
	}
	return in
}

// halves divides b across its widest dimension.
func (b Box) halves() (lower, upper Box) {
	lower, upper = b, b
	if q := math.Log(float64(b.Q2) / float64(b.Q1)); b.Q1 < b.Q2 && (q >= b.Size()/2 || b.narrow()) {
		mid := int64(math.Sqrt(float64(b.Q1) * float64(b.Q2)))
		mid = min(max(mid, b.Q1), b.Q2-1)
		lower.Q2, upper.Q1 = mid, mid+1
		return lower, upper
	}
	mid := time.Duration(math.Sqrt(float64(b.T1) * float64(b.T2)))
	lower.T2, upper.T1 = mid, mid
	return lower, upper
}

// Point returns the policy of b that people would write: the middle quota and the roundest times.
func (b Box) Point() Box {
	q := b.Q1 + (b.Q2-b.Q1)/2
	t := Roundest(b.T1, b.T2)
	return Box{q, q, t, t}
}

// middle returns the policy in the middle of b.
func (b Box) middle() Box {
	q, t := b.Q1+(b.Q2-b.Q1)/2, b.T1+(b.T2-b.T1)/2
	return Box{q, q, t, t}
}

// Conventional returns the policy of b that people would write: one of inner, unless b holds a rounder
// time. So it is 500ms rather than 504ms, although an end of b may be more than 2 % from it.
func (b Box) Conventional() Box {
	in, all := b.Inner().Point(), b.Point()
	if roundness(all.T1) >= roundness(in.T1) {
		return in
	}
	return all
}

// hull returns the box around boxes, of which there must be one.
func hull(boxes []Box) Box {
	h := boxes[0]
	for _, b := range boxes[1:] {
		h = Box{min(h.Q1, b.Q1), max(h.Q2, b.Q2), min(h.T1, b.T1), max(h.T2, b.T2)}
	}
	return h
}

// largest returns the largest of the wanted boxes that are not exact; -1 for none.
func largest(boxes []Box, wanted func(Box) bool) int {
	widest := -1
	for i, b := range boxes {
		if !b.exact() && wanted(b) && (widest < 0 || b.Size() > boxes[widest].Size()) {
			widest = i
		}
	}
	return widest
}

func anyBox(Box) bool { return true }
