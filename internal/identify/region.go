package identify

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// How many judgements a region may ask for after a phase, and before its kind is called the only one.
const (
	FewAsked  = 100
	ManyAsked = 2500
	// MostLive is into how many boxes the live boxes are divided.
	MostLive = 12
	// mostBroad is into how many boxes doubtful ones are divided before the smallest are divided first.
	mostBroad = 24
)

// Region is what a recording leaves of a kind. Its boxes together hold every policy that is not refuted.
type Region struct {
	Kind *Kind
	// Each live box has a point that is not refuted. A doubtful box is only not refuted as a whole. The
	// smallest doubtful boxes are divided first, so there are never many.
	Live, Doubtful []Box
	// Last is the box that was refuted last.
	Last Box
	// Judgements is how many judgements may still be asked for.
	Judgements int
	effort
	// searches is how many exact searches may still be asked for.
	searches int
	// Tried are boxes that were given up: no policy of them that was tried explains the recording. Fine tells
	// that none is given up any more. Again is what was given up, but not refuted, of a kind that is gone;
	// nil for nothing.
	Tried []Box
	Fine  bool
	Again *Region
	// Whole is the first box.
	Whole Box
	memory
}

// effort is how long and how deeply regions are judged.
type effort struct {
	// Shallow tells that an exact search would take too long.
	Shallow bool
	// Broad tells that the largest doubtful boxes are divided first, up to mostBroad boxes. Far from the
	// target, small boxes stay doubtful, so large ones that are easy to refute would never have their turn.
	Broad bool
	// Sharp tells that the ends of what is left are narrowed too, since no experiment follows.
	Sharp bool
	// Blur is what clocks and answers leave open of an instant. A limit that recovers sooner explains any
	// denial by chance, so it is given up until nothing else is left.
	Blur time.Duration
	// Parts is into how many boxes the live boxes are divided; 0: MostLive.
	Parts int
	// Over tells that the judge was asked for long enough.
	Over  func() bool
	Asker Asker
}

// coarse tells whether only policies are looked for that people would write. Where windows may begin at any
// time, many others explain a part of a recording. They are asked once nothing else is left.
func (r *Region) coarse() bool { return r.Kind.Base.Align == spec.AlignUnknown && !r.Fine }

// beside returns b with the next times at its ends, where only some times were asked.
func (r *Region) beside(b Box) Box {
	if r.coarse() {
		b.T1 = (b.T1 - 1) / grid(b.T1-1) * grid(b.T1-1)
		b.T2 = (b.T2 + grid(b.T2)) / grid(b.T2) * grid(b.T2)
	}
	return b
}

// Empty tells whether the kind is refuted.
func (r *Region) Empty() bool { return len(r.Live)+len(r.Doubtful) == 0 }

// Hull returns the box around all that is left.
func (r *Region) Hull() Box { return hull(append(slices.Clone(r.Live), r.Doubtful...)) }

// split returns a region for each part of the kind, where little more is learnt about all parts together;
// else r itself. At most two quotas may be left then, and the time must be open by at most a tenth, or by two
// of the slowest answers. Two quotas stay: a counter that rounds up admits, except from rest, as one of a
// unit less that does not round.
func (r *Region) split(slow time.Duration) []*Region {
	const near = 1.1
	h := r.Hull()
	if len(r.Kind.Parts) == 0 || h.Q1+1 < h.Q2 || float64(h.T2) > float64(h.T1)*near && h.T2-h.T1 > 2*slow {
		return []*Region{r}
	}
	var out []*Region
	for _, k := range r.Kind.Parts {
		out = append(out, &Region{Kind: k, Live: slices.Concat(r.Live, r.Doubtful),
			Tried: slices.Clone(r.Tried), Fine: r.Fine, Whole: r.Whole})
	}
	return out
}

// take sorts boxes into live and doubtful ones, and drops the refuted ones. again: they were live before.
func (r *Region) take(tl *timeline.Timeline, again bool, boxes ...Box) {
	for _, b := range boxes {
		if w, is := b.written(); r.coarse() && is {
			b = w
		} else if r.coarse() {
			continue
		}
		stands := again && !(r.Kind.Searched && b.exact()) && r.stands(tl, b) // then all of b is not refuted
		switch {
		case !stands && r.Refuted(tl, b), r.coarse() && b.point() && !r.stands(tl, b):
			r.Last = b
		case !r.Fine && r.Back(b.Q2, b.T2) <= r.Blur:
			r.Tried = append(r.Tried, b)
		case !stands && !r.stands(tl, b) && !(r.Kind.Searched && b.exact() && r.hit(tl, b)):
			r.Doubtful = append(r.Doubtful, b)
		default:
			r.Live = append(r.Live, b)
		}
	}
}

// takeInTime takes boxes until it is late. It returns the boxes that it did not judge.
func (r *Region) takeInTime(tl *timeline.Timeline, again bool, boxes []Box) []Box {
	for i, b := range boxes {
		if r.Over() {
			return boxes[i:]
		}
		r.take(tl, again, b)
	}
	return nil
}

// Narrow removes what tl refutes and divides the rest, by about asked judgements.
func (r *Region) Narrow(tl *timeline.Timeline, asked int) {
	r.Judgements, r.searches = asked, r.Kind.mostSearched()
	if r.Broad {
		r.searches *= 10 // far away bounds tell less, and a search takes milliseconds
	}
	r.searches = min(r.searches, asked)
	if r.Whole == (Box{}) {
		r.Whole = r.Hull()
	}
	live, doubtful := r.Live, r.Doubtful
	r.Live, r.Doubtful = nil, nil
	live = r.takeInTime(tl, true, live)
	doubtful = r.takeInTime(tl, false, doubtful)
	r.Live, r.Doubtful = append(r.Live, live...), append(r.Doubtful, doubtful...)
	r.spread(tl, &r.Live, cmp.Or(r.Parts, MostLive))
	r.doubt(tl)
	if r.Sharp {
		r.sharpen(tl)
	}
}

// Narrowed narrows r. It returns what is left, by parts of the kind once they are told apart, or else the
// region that is gone.
func (r *Region) Narrowed(tl *timeline.Timeline, asked int) (left []*Region, gone *Region) {
	if r.Narrow(tl, asked); r.Empty() {
		r.Again = r.revived()
		return nil, r
	}
	parts := r.split(Slowest(tl))
	for _, part := range parts {
		if len(parts) > 1 {
			part.effort, part.Sharp = r.effort, false
			part.Narrow(tl, asked)
		}
		if !part.Empty() {
			left = append(left, part)
		}
	}
	return left, nil
}

// spread divides the largest of boxes, which are r.Live or r.Doubtful, until there are most of them, or each
// is exact.
func (r *Region) spread(tl *timeline.Timeline, boxes *[]Box, most int) {
	for r.Judgements > 0 && len(*boxes) < most && !r.Over() {
		i := largest(*boxes, anyBox)
		if i < 0 {
			return
		}
		b := (*boxes)[i]
		*boxes = slices.Delete(*boxes, i, i+1)
		r.divide(tl, b)
	}
}

func (r *Region) divide(tl *timeline.Timeline, b Box) {
	lower, upper := b.halves()
	r.take(tl, false, upper, lower)
}

// Cut restricts the times of r to an interval, unless nothing would be left.
func (r *Region) Cut(from, to time.Duration) {
	within := func(boxes []Box) (out []Box) {
		for _, b := range boxes {
			if b.T1, b.T2 = max(b.T1, from), min(b.T2, to); b.T1 <= b.T2 {
				out = append(out, b)
			}
		}
		return out
	}
	if live, doubtful := within(r.Live), within(r.Doubtful); len(live)+len(doubtful) > 0 {
		r.Live, r.Doubtful = live, doubtful
	}
}

// revived returns a region of what was given up of r, but not refuted; nil for nothing.
func (r *Region) revived() *Region {
	if r.coarse() {
		return &Region{Kind: r.Kind, Doubtful: []Box{r.Whole}, Whole: r.Whole, Fine: true}
	}
	if len(r.Tried) == 0 {
		return nil
	}
	return &Region{Kind: r.Kind, Doubtful: r.Tried, Fine: true}
}

// Points returns at most n policies, spread over the live boxes. It includes the doubtful boxes if there are
// no live ones, or if doubtful.
func (r *Region) Points(n int, doubtful bool) []Box {
	boxes := r.Live
	if len(boxes) == 0 || doubtful {
		boxes = append(slices.Clone(r.Live), r.Doubtful...)
	}
	var out []Box
	step := max(1, (len(boxes)+n-1)/n)
	for i := 0; i < len(boxes); i += step {
		if r.coarse() {
			out = append(out, boxes[i].Point())
		} else {
			out = append(out, boxes[i].middle())
		}
	}
	return out
}

// Rate is the range of rates that are left, in units per second: that of h or of all boxes, whichever is
// narrower. A rate may be known although the window is not.
func (r *Region) Rate(h Box) result.Interval {
	of := func(b Box) (lo, hi float64) {
		units := func(q int64) float64 {
			if r.Kind.Paced {
				return float64(time.Second)
			}
			return float64(q) * float64(time.Second)
		}
		return units(b.Q1) / float64(b.T2), units(b.Q2) / float64(b.T1)
	}
	least, most := of(h)
	lo, hi := math.Inf(1), 0.0
	for _, b := range slices.Concat(r.Live, r.Doubtful) {
		from, to := of(b)
		lo, hi = min(lo, from), max(hi, to)
	}
	return result.Interval{Lo: max(least, lo), Hi: min(most, hi), LoSet: true, HiSet: true}
}

// Back is the silence after which a policy of r has its whole quota again.
func (r *Region) Back(quota int64, t time.Duration) time.Duration {
	switch {
	case r.Kind.Paced:
		return t * time.Duration(quota)
	case r.Kind.Base.Weighs(): // it remembers the window before
		return 2 * t
	}
	return t
}

// Recovery is the longest time in which all that r admits comes back.
func (r *Region) Recovery() time.Duration {
	h := r.Hull()
	if r.Kind.Paced {
		return max(h.T2, h.T2*time.Duration(h.Q2))
	}
	return h.T2
}

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
