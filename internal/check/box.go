package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// explore looks at boxes, the last one first, and puts the parts that look returns in the place of each: none
// where it is done with. It returns the box at which look stops and all that are left, or nothing.
func explore[B any](boxes []B, look func(b B) (parts []B, stop bool)) (left []B) {
	for len(boxes) > 0 {
		last := len(boxes) - 1
		parts, stop := look(boxes[last])
		if stop {
			return boxes
		}
		boxes = append(boxes[:last], parts...)
	}
	return nil
}

// halved returns the parts of a box for explore, the lower one asked first; it stops at a box that has none.
func halved[B any](lower, upper B, ok bool) (parts []B, stop bool) {
	if !ok {
		return nil, true
	}
	return []B{upper, lower}, false
}

// phases is a closed box of window phases, in nanoseconds since the start of the recording.
type phases struct{ from, to int64 }

// cut divides b: the upper part begins at the given phase.
func (b phases) cut(at int64) (lower, upper phases) {
	return phases{b.from, at - 1}, phases{at, b.to}
}

// middle returns the phase at which the upper half of b begins, in (b.from, b.to].
func (b phases) middle() int64 { return b.from + (b.to-b.from+1)/2 }

// turns are the phases at which a request enters or leaves a window, ascending: between two of them a fixed
// window judges alike. They are nil where they are not listed.
type turns []int64

// inside returns the turns in (b.from, b.to].
func (t turns) inside(b phases) turns {
	lo, _ := slices.BinarySearch(t, b.from+1)
	hi, _ := slices.BinarySearch(t, b.to+1)
	return t[lo:hi]
}

// none tells whether no turn is inside b.
func (t turns) none(b phases) bool { return t != nil && len(t.inside(b)) == 0 }

// split is middle, but at the middle one of the turns inside where there are any.
func (t turns) split(b phases) int64 {
	if in := t.inside(b); len(in) > 0 {
		return in[len(in)/2]
	}
	return b.middle()
}

// alike tells whether the phases of b are worth no bounds of their own: there is only one, or no request of a
// fixed window certainly changes its window inside.
func (t turns) alike(p spec.Policy, b phases) bool {
	return b.from == b.to || p.Fixed() && p.PerTo == 0 && t.none(b)
}

// turnsOf returns the phases inside the box at which a request of the group enters or leaves a window,
// ascending.
func turnsOf(g *group, size int64, box phases) turns {
	out := turns{}
	if box.to-box.from > 64*size { // an anchor that nothing bounds: too many to list, and halves do as well
		return nil
	}
	for _, h := range g.parts {
		turns := 2
		if h.lag > 0 { // when it was sent, and what a late clock shows when it was answered
			turns = 4
		}
		for _, ev := range h.all {
			instants := [4]int64{ev.s, ev.e, ev.s + h.lag, ev.e - h.lag}
			for _, t := range instants[:turns] {
				// Of the phases congruent to t, and those that follow them, all inside the box.
				for p := t - floorDiv(t-box.from, size)*size; p <= box.to; p += size {
					out = append(out, p)
					if p < box.to {
						out = append(out, p+1)
					}
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
