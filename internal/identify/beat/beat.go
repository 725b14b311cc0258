// Package beat follows the requests of one client against a bucket that one timer fills: some units at each
// beat, whenever the first beat was. The judge knows such a bucket only where its timer begins with the first
// request.
package beat

import (
	"math"
	"slices"
	"time"
)

// Box is a range of buckets and timers. Beat k comes at the origin of a Trace + (k - u) / g.
type Box struct {
	// Fill units come back at each beat, of Least to Most that the bucket holds.
	Fill, Least, Most int64
	// G1 and G2 bound g, the beats a nanosecond; U1 and U2 bound u, which share of the time between two
	// beats was over at the origin.
	G1, G2, U1, U2 float64
	// known is for how long it was followed: then there were too many ways.
	known time.Duration
}

// Wide is every timer with beats that are from least to most apart.
func Wide(fill, most int64, least, longest time.Duration) Box {
	return Box{Fill: fill, Least: fill + 1, Most: most, G1: 1 / float64(longest), G2: 1 / float64(least),
		U2: 1}
}

// Apart are the least and the most time between two beats of b.
func (b Box) Apart() (least, most time.Duration) {
	return time.Duration(1 / b.G2), time.Duration(math.Ceil(1 / b.G1))
}

// Middle is the bucket and the timer in the middle of b.
func (b Box) Middle() Box {
	c, g, u := b.Least+(b.Most-b.Least)/2, b.G1+(b.G2-b.G1)/2, b.U1+(b.U2-b.U1)/2
	return Box{Fill: b.Fill, Least: c, Most: c, G1: g, G2: g, U1: u, U2: u}
}

// blur is how many beats, at most, some timer of b has more than another one within a time.
func (b Box) blur(within time.Duration) float64 {
	return (b.G2-b.G1)*float64(within) + b.U2 - b.U1
}

// halves divides b across its longest side, as that matters for as long as it was followed.
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

// Set is what is left of the timers of buckets: boxes of which one point explains all requests, and those of
// which only none is known.
type Set struct{ Live, Doubtful []Box }

// Narrow removes what a recording refutes, and divides what is left, by so many steps, until over. While
// no point is known that explains all requests, the smallest boxes are divided first: so there are few of
// them, and either a point is found soon, or all are refuted.
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

// next is the box that is to be divided next, and of which list; -1 for none.
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

// exact tells whether requests tell no more of b.
func (b Box) exact(t *Trace) bool {
	const finer = 256
	return b.Least == b.Most && b.blur(t.long) < float64(t.slow)*b.G1/finer
}

// widest is the box in which most is open; -1 for none.
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
