// Package beat follows the requests of one client against a bucket that a timer fills: some units at each
// beat, with the first beat at an unknown time. The judge knows such a bucket only where its timer starts
// with the first request.
package beat

import (
	"math"
	"slices"
	"time"
)

// Box is a range of buckets and timers. Beat k comes at (k - u) / g after the origin of a Trace.
type Box struct {
	// Fill is the units that come back at each beat. The bucket holds Least to Most units.
	Fill, Least, Most int64
	// G1 and G2 bound g, the beats per nanosecond. U1 and U2 bound u, the share of the time between two beats
	// that had passed at the origin.
	G1, G2, U1, U2 float64
	// known is how long explains followed the box, from the origin on. After that there were too many states.
	known time.Duration
}

// Wide returns every timer whose beats are between least and longest apart.
func Wide(fill, most int64, least, longest time.Duration) Box {
	return Box{Fill: fill, Least: fill + 1, Most: most, G1: 1 / float64(longest), G2: 1 / float64(least),
		U2: 1}
}

// Apart returns the least and the longest time between two beats of b.
func (b Box) Apart() (least, most time.Duration) {
	return time.Duration(1 / b.G2), time.Duration(math.Ceil(1 / b.G1))
}

// Middle returns the bucket and the timer in the middle of b.
func (b Box) Middle() Box {
	c, g, u := b.Least+(b.Most-b.Least)/2, b.G1+(b.G2-b.G1)/2, b.U1+(b.U2-b.U1)/2
	return Box{Fill: b.Fill, Least: c, Most: c, G1: g, G2: g, U1: u, U2: u}
}

// blur is by how many beats two timers of b may differ within a time.
func (b Box) blur(within time.Duration) float64 {
	return (b.G2-b.G1)*float64(within) + b.U2 - b.U1
}

// halves divides b across the side that leaves most open within b.known.
func (b Box) halves() (lower, upper Box) {
	lower, upper = b, b
	rate, phase := (b.G2-b.G1)*float64(b.known), b.U2-b.U1
	switch {
	case b.Most-b.Least > b.Least/2, b.Most > b.Least && rate+phase < 1:
		c := b.Least + (b.Most-b.Least)/2
		lower.Most, upper.Least = c, c+1
	case rate >= phase:
		g := math.Sqrt(b.G1 * b.G2)
		lower.G2, upper.G1 = g, g
	default:
		u := b.U1 + (b.U2-b.U1)/2
		lower.U2, upper.U1 = u, u
	}
	return lower, upper
}

// Set is the buckets and timers that are not refuted. The middle of a Live box explains all requests. Of a
// Doubtful box no such point is known.
type Set struct{ Live, Doubtful []Box }

// Narrow removes what t refutes and divides the rest, by about asked steps, until over. While no box is live,
// it divides the smallest boxes first. So there are few boxes, and soon one is live or all are refuted.
func (s Set) Narrow(t *Trace, asked int, over func() bool) Set {
	var out, kept Set
	asked += t.steps
	take := func(b Box) {
		known, may := t.explains(b)
		if b.known = known; !may {
			return
		}
		switch known, may = t.explains(b.Middle()); {
		case may && known == t.long:
			out.Live = append(out.Live, b)
		default:
			out.Doubtful = append(out.Doubtful, b)
		}
	}
	for _, b := range append(slices.Clone(s.Live), s.Doubtful...) {
		take(b)
	}
	for asked > t.steps && !over() {
		boxes, i := t.next(&out)
		if i < 0 {
			break
		}
		b := (*boxes)[i]
		*boxes = slices.Delete(*boxes, i, i+1)
		if b.exact(t) {
			kept.Doubtful = append(kept.Doubtful, b)
			continue
		}
		lower, upper := b.halves()
		take(upper)
		take(lower)
	}
	out.Doubtful = append(out.Doubtful, kept.Doubtful...)
	return out
}

// next is the box to divide next and the list that holds it; -1 for none.
func (t *Trace) next(s *Set) (of *[]Box, i int) {
	const most, doubts = 40, 200
	if len(s.Live) == 0 {
		return &s.Doubtful, len(s.Doubtful) - 1
	}
	if i := widest(s.Live, t.long); len(s.Live) < most && !s.Live[i].exact(t) {
		return &s.Live, i
	}
	if len(s.Doubtful) > doubts {
		return nil, -1
	}
	return &s.Doubtful, widest(s.Doubtful, t.long)
}

// exact tells whether dividing b would tell nothing more: its timers differ by far less than the time within
// which a typical request was decided.
func (b Box) exact(t *Trace) bool {
	const finer = 256
	return b.Least == b.Most && b.blur(t.long) < float64(t.slow)*b.G1/finer
}

// widest is the index of the box that leaves most open; -1 for none.
func widest(boxes []Box, within time.Duration) int {
	out, most := -1, -1.0
	for i, b := range boxes {
		open := b.blur(within) + float64(b.Most-b.Least)
		if open > most {
			out, most = i, open
		}
	}
	return out
}

// Empty tells whether nothing is left.
func (s Set) Empty() bool { return len(s.Live)+len(s.Doubtful) == 0 }
