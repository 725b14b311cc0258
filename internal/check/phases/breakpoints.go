package phases

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Explore looks at boxes, the last one first, and puts the parts that look returns in the place of each: none
// where it is done with. It returns the box at which look stops and all that are left, or nothing.
func Explore[B any](boxes []B, look func(b B) (parts []B, stop bool)) (left []B) {
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

// Halved returns the parts of a box for explore, the lower one asked first; it stops at a box that has none.
func Halved[B any](lower, upper B, ok bool) (parts []B, stop bool) {
	if !ok {
		return nil, true
	}
	return []B{upper, lower}, false
}

// Breakpoints are the phases at which a request enters or leaves a window, ascending: between two of them a
// fixed window judges alike. They are nil where they are not listed.
type Breakpoints []int64

// Inside returns the breakpoints in (b.from, b.to].
func (t Breakpoints) Inside(b history.Interval) Breakpoints {
	lo, _ := slices.BinarySearch(t, b.From+1)
	hi, _ := slices.BinarySearch(t, b.To+1)
	return t[lo:hi]
}

// none tells whether no turn is inside b.
func (t Breakpoints) none(b history.Interval) bool { return t != nil && len(t.Inside(b)) == 0 }

// Split is middle, but at the middle one of the breakpoints inside where there are any.
func (t Breakpoints) Split(b history.Interval) int64 {
	if in := t.Inside(b); len(in) > 0 {
		return in[len(in)/2]
	}
	return b.Middle()
}

// Alike tells whether the phases of b are worth no bounds of their own: there is only one, or no request of a
// fixed window certainly changes its window inside.
func (t Breakpoints) Alike(p spec.Policy, b history.Interval) bool {
	return b.From == b.To || p.Fixed() && p.PerTo == 0 && t.none(b)
}

// BreakpointsOf returns the phases inside the box at which a request of some histories enters or leaves a
// window, ascending.
func BreakpointsOf(parts []*history.History, size int64, box history.Interval) Breakpoints {
	out := Breakpoints{}
	if box.To-box.From > 64*size { // an anchor that nothing bounds: too many to list, and halves do as well
		return nil
	}
	for _, h := range parts {
		n := 2
		if h.Lag > 0 { // when it was sent, and what a late clock shows when it was answered
			n = 4
		}
		for _, ev := range h.All {
			instants := [4]int64{ev.Start, ev.End, ev.Start + h.Lag, ev.End - h.Lag}
			for _, t := range instants[:n] {
				out = out.at(t, size, box)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// at appends the phases of the box under which a window begins at t, and those that follow them.
func (t Breakpoints) at(instant, size int64, box history.Interval) Breakpoints {
	for p := instant - history.FloorDiv(instant-box.From, size)*size; p <= box.To; p += size {
		t = append(t, p)
		if p < box.To {
			t = append(t, p+1)
		}
	}
	return t
}

// Survivors returns the boxes of at most the given width that are not refuted, ascending, neighbours joined.
func (s *Search) Survivors(box history.Interval, width int64) (left []history.Interval) {
	Explore([]history.Interval{box}, func(b history.Interval) (halves []history.Interval, stop bool) {
		if _, ok := s.Judge(Cell{b, s.Policy}); ok {
			return nil, false
		}
		if b.To-b.From > width && !s.Breakpoints.Alike(s.Policy, b) {
			lower, upper := b.Cut(b.Middle())
			return Halved(lower, upper, true)
		}
		if n := len(left); n > 0 && left[n-1].To+1 == b.From {
			left[n-1].To = b.To
		} else {
			left = append(left, b)
		}
		return nil, false
	})
	return left
}

// Arc returns the shortest arc of a circle of the given size that holds all boxes, which ascend and do not
// overlap. Its end may lie beyond one turn.
func Arc(boxes []history.Interval, size int64) history.Interval {
	widest, after := int64(-1), 0
	for i, b := range boxes {
		next := boxes[0].From + size
		if i+1 < len(boxes) {
			next = boxes[i+1].From
		}
		if gap := next - b.To; gap > widest {
			widest, after = gap, i
		}
	}
	turned := append(slices.Clone(boxes[after+1:]), boxes[:after+1]...)
	out := history.Interval{From: turned[0].From, To: turned[len(turned)-1].To}
	if out.To < out.From {
		out.To += size
	}
	return out
}
