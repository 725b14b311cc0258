package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Explore works through boxes, the last one first. look returns the parts that take the place of a box: none
// where the box is done with. Where look stops, Explore returns that box and all that are left; else it
// returns nil.
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

// Halved returns the halves of a box for Explore, which then looks at the lower one first. Without ok it
// stops there.
func Halved[B any](lower, upper B, ok bool) (parts []B, stop bool) {
	if !ok {
		return nil, true
	}
	return []B{upper, lower}, false
}

// Breakpoints are the phases at which a request enters or leaves a window, ascending. Between two breakpoints
// every phase of a fixed window gives the same answers. nil: they are not listed.
type Breakpoints []int64

// Inside returns the breakpoints in (b.From, b.To].
func (t Breakpoints) Inside(b history.Interval) Breakpoints {
	lo, _ := slices.BinarySearch(t, b.From+1)
	hi, _ := slices.BinarySearch(t, b.To+1)
	return t[lo:hi]
}

// none tells whether it is known that no breakpoint is inside b.
func (t Breakpoints) none(b history.Interval) bool { return t != nil && len(t.Inside(b)) == 0 }

// Split returns where to divide b: at the middle one of the breakpoints inside, or in the middle if there is
// none.
func (t Breakpoints) Split(b history.Interval) int64 {
	if in := t.Inside(b); len(in) > 0 {
		return in[len(in)/2]
	}
	return b.Middle()
}

// Alike tells whether all phases of b give the same bounds: b has one phase only, or no breakpoint of a fixed
// window.
func (t Breakpoints) Alike(p spec.Policy, b history.Interval) bool {
	return b.From == b.To || p.Fixed() && p.PerTo == 0 && t.none(b)
}

// BreakpointsOf returns the phases of the box at which a request of some histories enters or leaves a window,
// ascending. nil: there are too many. size is the length of a window, in nanoseconds.
func BreakpointsOf(parts []*history.History, size int64, box history.Interval) Breakpoints {
	out := Breakpoints{}
	if box.To-box.From > 64*size { // too many to list: halve instead
		return nil
	}
	for _, h := range parts {
		n := 2
		if h.Lag > 0 { // also the instants at which it was sent, and that a late clock shows at its answer
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

// at appends the phases of the box under which a window begins at the instant, and the phase after each.
func (t Breakpoints) at(instant, size int64, box history.Interval) Breakpoints {
	for p := instant - history.FloorDiv(instant-box.From, size)*size; p <= box.To; p += size {
		t = append(t, p)
		if p < box.To {
			t = append(t, p+1)
		}
	}
	return t
}

// Survivors returns the boxes that are not refuted, ascending, neighbours joined. It divides boxes down to
// width.
func (s *PhaseSearch) Survivors(box history.Interval, width int64) (left []history.Interval) {
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

// Arc returns the shortest arc of a circle of the given size that holds all boxes. They ascend and do not
// overlap. The end of the arc may be size or more.
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
