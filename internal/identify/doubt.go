package identify

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// doubt divides doubtful boxes, the smallest first, until they are as narrow as the judge can tell.
func (r *Region) doubt(tl *timeline.Timeline) {
	const finest = 1.0005 // the ratio between the ends of a time below which a box is kept as it is
	var kept []Box
	if r.Broad {
		r.spread(tl, &r.Doubtful, mostBroad)
	}
	for r.Judgements > 0 && len(r.Doubtful) > 0 && !r.Over() {
		last := len(r.Doubtful) - 1
		b := r.Doubtful[last]
		r.Doubtful = r.Doubtful[:last]
		switch {
		case b.point():
			kept = append(kept, b)
		case r.Kind.Searched && !r.Shallow && !r.Fine && b.exact():
			r.Tried = append(r.Tried, b)
		case b.Q1 == b.Q2 && float64(b.T2) < float64(b.T1)*finest:
			kept = append(kept, b)
		default:
			r.divide(tl, b)
		}
	}
	r.Doubtful = append(r.Doubtful, kept...)
}

// sharpen divides boxes at an end of what is left, since no experiment will narrow it.
func (r *Region) sharpen(tl *timeline.Timeline) {
	for r.Judgements > 0 && len(r.Live)+len(r.Doubtful) < 4*MostLive && !r.Over() {
		boxes := &r.Live
		i := r.atEnd(*boxes)
		if j := r.atEnd(r.Doubtful); i < 0 || j >= 0 && r.Doubtful[j].Size() > r.Live[i].Size() {
			boxes, i = &r.Doubtful, j
		}
		if i < 0 {
			return
		}
		b := (*boxes)[i]
		*boxes = slices.Delete(*boxes, i, i+1)
		r.divide(tl, b)
	}
}

// atEnd returns the largest box at an end of what is left; -1 where none is, or all are exact.
func (r *Region) atEnd(boxes []Box) int {
	if len(boxes) == 0 {
		return -1
	}
	h := r.Hull()
	return largest(boxes, func(b Box) bool {
		return b.Q1 == h.Q1 || b.Q2 == h.Q2 || b.T1 == h.T1 || b.T2 == h.T2
	})
}

// MostPinned is how many boxes of the only limit that is left are tried.
const MostPinned = 200

// Pinned returns a policy that explains the recording: the roundest near the first one that it finds. It
// divides the live boxes, up to most, and then the doubtful ones. It reports false where it finds none in
// time.
func (r *Region) Pinned(tl *timeline.Timeline, most int, late func() bool,
	explains func(Box) bool) (Box, bool) {
	for _, open := range [][]Box{slices.Clone(r.Live), slices.Clone(r.Doubtful)} {
		for i := 0; i < min(most, len(open)) && !late(); i++ {
			for _, p := range []Box{open[i].Point(), open[i].middle()} {
				if explains(p) {
					return r.rounded(p, explains), true
				}
			}
			lower, upper := open[i].halves()
			for _, half := range []Box{lower, upper} {
				if half.T1 < half.T2 && !r.Refuted(tl, half) {
					open = append(open, half)
				}
			}
		}
	}
	return Box{}, false
}

// rounded returns the roundest policy near p that explains the recording, as p does.
func (r *Region) rounded(p Box, explains func(Box) bool) Box {
	const steps = 12
	at := func(t time.Duration) Box {
		out := p
		out.T1, out.T2 = t, t
		return out
	}
	end := func(out time.Duration) time.Duration { // the last time that explains, from p on
		in := p.T1
		for range steps {
			if middle := in + (out-in)/2; explains(at(middle)) {
				in = middle
			} else {
				out = middle
			}
		}
		return in
	}
	h, near := r.Hull(), p
	near.T1, near.T2 = end(h.T1), end(h.T2)
	if round := r.Kind.Conventional(near); explains(round) {
		return round
	}
	return p
}
