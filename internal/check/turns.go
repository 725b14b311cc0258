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

// turnsOf returns the phases inside the box at which a request of some histories enters or leaves a window,
// ascending.
func turnsOf(parts []*history, size int64, box phases) turns {
	out := turns{}
	if box.to-box.from > 64*size { // an anchor that nothing bounds: too many to list, and halves do as well
		return nil
	}
	for _, h := range parts {
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
