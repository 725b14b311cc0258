package identify

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// How many judgements a region may ask for after a phase, and before a kind is called the only one.
const (
	fewAsked  = 100
	manyAsked = 2500
	// mostLive is into how many boxes what may be true is divided.
	mostLive = 12
	// mostBroad is into how many what is doubtful is divided before the smallest are.
	mostBroad = 24
)

// region is what a recording leaves of a kind: boxes that together hold every policy that is not refuted.
type region struct {
	kind *kind
	// beside is another limit, which must admit too; nil for none.
	beside *region
	// live boxes have a point that is not refuted. Of doubtful ones only the whole is not, yet; they are
	// refuted the smallest first, so that there are never many of them.
	live, doubtful []box
	// beats are the timers that are left of a bucket in batches; nil of any other kind.
	beats *beats
	// last is the box that was refuted last.
	last box
	// left is how many judgements may still be asked for; shallow tells that an exact search would take too
	// long.
	left    int
	shallow bool
	// broad tells that what is doubtful is divided the largest first, up to mostBroad, as from far away.
	// There so much is doubtful that what is large, and soon refuted, would never be asked about.
	broad bool
	// sharp asks for the ends of what is left too, as no experiment comes.
	sharp bool
	// steady tells that a steady path is supposed. There experiments soon refute what the judge takes long
	// for.
	steady bool
	// over tells that the judge was asked for long enough, late that it was for all regions; nil: it is not.
	over, late func() bool
	// searches is how many exact searches may still be asked for.
	searches int
	// tried are boxes that were given up, as no policy of them that was tried explains the recording; fine
	// tells that none is given up any more. again is what of a kind that is gone was given up, and not
	// refuted; nil for nothing.
	tried []box
	fine  bool
	again *region
}

// refuted asks the judge about all policies of a box. Of a single quota it asks each part on both sides at
// once, as each place of its windows may be refuted by another side. Of several, the largest admits no less,
// so that it alone answers for what was admitted, and the smallest for what was denied. That leaves much of
// windows that begin anywhere: on a steady path they are asked on both sides at once, too.
func (r *region) refuted(tl *timeline.Timeline, b box) bool {
	r.left--
	if r.kind.seconds {
		return !bySeconds(tl, r.with(r.kind.policy(b)))
	}
	parts := r.kind.each()
	joint := r.steady && r.kind.base.Align == spec.AlignUnknown
	if joint || b.q1 == b.q2 && (len(parts) == 1 || b.narrow()) {
		return !slices.ContainsFunc(parts,
			func(k *kind) bool { return !r.everywhere(tl, k.policy(b), verdict.Exact) })
	}
	least, most := b, b
	least.q2, most.q1 = b.q1, b.q2
	return r.everywhere(tl, parts[0].policy(most), verdict.UpperBound) ||
		r.everywhere(tl, parts[len(parts)-1].policy(least), verdict.LowerBound)
}

// crowded tells whether so many requests were under way at once that an exact search would take long. On a
// steady path, where each is under way for a short time, one late answer beside few others is no crowd.
func (x *search) crowded() bool {
	const most = 8
	all := x.judged().Observations
	for i := range all {
		if j := i + most; j < len(all) && all[i].FirstByte > all[j].Sent &&
			(x.path == nil || underWay(all[:j], all[j].Sent) > 2*most) {
			return true
		}
	}
	return false
}

// underWay is how many requests, of those before an instant, were not answered then.
func underWay(before []timeline.Observation, at time.Duration) (n int) {
	for i := range before {
		if before[i].FirstByte > at {
			n++
		}
	}
	return n
}

// with returns a policy of r, beside all that is left of the other limit.
func (r *region) with(p spec.Policy) spec.Limit {
	if r.beside == nil {
		return spec.Limit{p}
	}
	return spec.Limit{p, r.beside.kind.policy(r.beside.hull())}
}

// everywhere asks the judge about a policy by its bounds. Of windows that are longer than the recording it
// asks apart whether one begins in it: most of the places where they may begin are outside.
func (r *region) everywhere(tl *timeline.Timeline, p spec.Policy, side verdict.Conformance) bool {
	clocked := p.Fixed() && p.Align == spec.AlignUnknown && p.Ban == 0
	if (p.Weighs() || clocked) && r.looser(tl, p, side) {
		return true
	}
	if r.steady && p.Align == spec.AlignUnknown && p.PerTo > 0 && r.alone(tl, p, side) {
		return true
	}
	end := tl.End() + tl.Header.Tick + time.Millisecond
	if p.Align != spec.AlignUnknown || p.Rate.Per < 2*end || several(tl) {
		return refuted(tl, r.with(p), side, false)
	}
	inside, outside := p, p
	inside.Align, inside.PhaseFrom, inside.PhaseTo = spec.AlignPhase, 0, end
	outside.Align, outside.PhaseFrom, outside.PhaseTo = spec.AlignPhase, end, p.Rate.Per-1
	return refuted(tl, r.with(outside), side, false) && refuted(tl, r.with(inside), side, false)
}

// alone asks about each stretch alone, as if its windows began anywhere, whatever those of the others do:
// after a while nobody knows the place of windows that may be longer or shorter.
func (r *region) alone(tl *timeline.Timeline, p spec.Policy, side verdict.Conformance) bool {
	l := r.with(p)
	for i, part := range parted(anew(tl, silence(tl, l))) {
		if i > 0 && refuted(fromZero(part), l, side, false) {
			return true
		}
	}
	return false
}

// looser asks about logs and a bucket that hold every limit of p, windows by the clock or counters, wherever
// those begin. A window denies only where the quota was counted within its time, a counter within two, and
// each admits at most two quotas in the time of one. A bucket of two quotas holds all windows. Of a counter
// it has one, and two units for what is begun and for rounding: after a quota at the end of a window no more
// is admitted than its rate, as the weight of that one goes. Ranges of these are judged sharper and sooner.
func (r *region) looser(tl *timeline.Timeline, p spec.Policy, side verdict.Conformance) bool {
	few := spec.Policy{Algorithm: spec.SlidingWindowLog, Rate: p.Rate, RateTo: p.RateTo, PerTo: p.PerTo,
		Burst: p.Burst, Count: p.Count}
	many, quota := few, max(p.Rate.N, p.RateTo)
	bucket := spec.Policy{Algorithm: spec.TokenBucket, Rate: spec.Rate{N: quota, Per: p.Rate.Per},
		Burst: 2 * quota}
	if p.Weighs() {
		few.Rate.Per, few.PerTo, bucket.Burst = 2*p.Rate.Per, 2*p.PerTo, min(2*quota, quota+2)
	}
	many.Rate.N, many.RateTo, many.Burst = 2*p.Rate.N, 2*p.RateTo, 2*p.Burst
	many.Count = spec.CountAdmitted
	return side != verdict.UpperBound && refuted(tl, r.with(few), verdict.LowerBound, false) ||
		side != verdict.LowerBound && (refuted(tl, r.with(many), verdict.UpperBound, false) ||
			refuted(tl, r.with(bucket), verdict.UpperBound, false))
}

// split returns a region for each part of the kind, where no more is to be learnt of all together; else r
// itself. Of a time that is open by no more than two answers take, slow, little more is learnt. One that
// rounds up admits as one of a unit less that does not, but from rest: of those, two quotas are left.
func (r *region) split(slow time.Duration) []*region {
	const near = 1.1
	h := r.hull()
	if len(r.kind.parts) == 0 || h.q1+1 < h.q2 || float64(h.t2) > float64(h.t1)*near && h.t2-h.t1 > 2*slow {
		return []*region{r}
	}
	var out []*region
	for _, k := range r.kind.parts {
		out = append(out, &region{kind: k, beside: r.beside, live: slices.Concat(r.live, r.doubtful),
			tried: slices.Clone(r.tried), fine: r.fine})
	}
	return out
}

// take sorts boxes into those that are live and those that are doubtful, without the refuted ones.
func (r *region) take(tl *timeline.Timeline, boxes ...box) {
	for _, b := range boxes {
		switch {
		case r.refuted(tl, b):
			r.last = b
		case !r.stands(tl, b) && !(r.kind.searched && b.exact() && r.hit(tl, b)):
			r.doubtful = append(r.doubtful, b)
		default:
			r.live = append(r.live, b)
		}
	}
}

// takeInTime takes boxes until it is late. It returns those that it did not judge.
func (r *region) takeInTime(tl *timeline.Timeline, boxes []box) []box {
	for i, b := range boxes {
		if r.late != nil && r.late() {
			return boxes[i:]
		}
		r.take(tl, b)
	}
	return nil
}

// stands tells whether nothing refutes a point of a box. On a steady path the exact search is asked only
// about a box that is so small that others of it are like the point.
func (r *region) stands(tl *timeline.Timeline, b box) bool {
	const near = 1.1
	if r.steady && (b.q1 < b.q2 || float64(b.t2) > float64(b.t1)*near) {
		return !r.refuted(tl, b.point())
	}
	return r.explains(tl, b.point())
}

// explains tells whether nothing refutes a point: no bound, nor, where bounds alone miss much, the exact
// search.
func (r *region) explains(tl *timeline.Timeline, point box) bool {
	if !r.kind.searched || r.shallow || r.searches <= 0 {
		return !r.refuted(tl, point)
	}
	r.left--
	r.searches--
	for _, k := range r.kind.each() {
		if !refuted(tl, r.with(k.policy(point)), verdict.Exact, true) {
			return true
		}
	}
	return false
}

// hit tells whether some policy all over a box explains the recording.
func (r *region) hit(tl *timeline.Timeline, b box) bool {
	const tries = 5
	for i := range time.Duration(tries) {
		p := b
		p.t1 += (b.t2 - b.t1) * i / (tries - 1)
		p.t2 = p.t1
		if r.explains(tl, p) {
			return true
		}
	}
	return false
}

// narrow removes what tl refutes, and divides what is left, by so many judgements.
func (r *region) narrow(tl *timeline.Timeline, asked int) {
	if r.beats != nil {
		r.byBeats(tl, asked)
		return
	}
	r.left, r.searches = asked, r.kind.mostSearched() // bounds see little
	if r.broad {
		r.searches *= 10 // from far away bounds see less, and a search takes some milliseconds
	}
	r.searches = min(r.searches, asked)
	live, doubtful := r.live, r.doubtful
	r.live, r.doubtful = nil, nil
	live = r.takeInTime(tl, live)
	doubtful = r.takeInTime(tl, doubtful)
	r.live, r.doubtful = append(r.live, live...), append(r.doubtful, doubtful...)
	for r.left > 0 && len(r.live) < mostLive && !r.over() {
		i := largest(r.live, anyBox)
		if i < 0 {
			break
		}
		b := r.live[i]
		r.live = slices.Delete(r.live, i, i+1)
		r.divide(tl, b)
	}
	r.doubt(tl)
	if r.sharp {
		r.sharpen(tl)
	}
}

// sharpen divides what holds an end of all that is left, as no experiment will.
func (r *region) sharpen(tl *timeline.Timeline) {
	for r.left > 0 && len(r.live)+len(r.doubtful) < 4*mostLive && !r.over() {
		boxes := &r.live
		i := r.atEnd(*boxes)
		if j := r.atEnd(r.doubtful); i < 0 || j >= 0 && r.doubtful[j].size() > r.live[i].size() {
			boxes, i = &r.doubtful, j
		}
		if i < 0 {
			return
		}
		b := (*boxes)[i]
		*boxes = slices.Delete(*boxes, i, i+1)
		r.divide(tl, b)
	}
}

// atEnd returns the widest of boxes that holds an end of what is left; -1 where none does, or each is exact.
func (r *region) atEnd(boxes []box) int {
	if len(boxes) == 0 {
		return -1
	}
	h := r.hull()
	return largest(boxes, func(b box) bool {
		return b.q1 == h.q1 || b.q2 == h.q2 || b.t1 == h.t1 || b.t2 == h.t2
	})
}

// narrowed narrows r and the limit beside it, each in turn beside all that is left of the other. It returns
// what is left, apart where the parts of the kind are, or else which of both is gone.
func (r *region) narrowed(tl *timeline.Timeline, asked int) (left []*region, gone *region) {
	if a := r.beside; a != nil {
		a.shallow, a.broad, a.steady, a.over, a.late = r.shallow, r.broad, r.steady, r.over, r.late
		if a.narrow(tl, asked); a.empty() {
			if again := a.revived(); again != nil {
				a.again = &region{kind: r.kind, beside: again, live: r.live, doubtful: r.doubtful, fine: true}
			}
			return nil, a
		}
	}
	if r.narrow(tl, asked); r.empty() {
		r.again = r.revived()
		return nil, r
	}
	parts := r.split(slowest(tl))
	for _, part := range parts {
		if len(parts) > 1 {
			part.shallow, part.broad, part.steady = r.shallow, r.broad, r.steady
			part.over, part.late = r.over, r.late
			part.narrow(tl, asked)
		}
		if !part.empty() {
			left = append(left, part)
		}
	}
	return left, nil
}

// doubt divides what is doubtful, the smallest first, down to what is as narrow as it can be told.
func (r *region) doubt(tl *timeline.Timeline) {
	var kept []box
	finest := r.finest(tl)
	for r.broad && r.left > 0 && len(r.doubtful) < mostBroad && !r.over() {
		i := largest(r.doubtful, anyBox)
		if i < 0 {
			break
		}
		b := r.doubtful[i]
		r.doubtful = slices.Delete(r.doubtful, i, i+1)
		r.divide(tl, b)
	}
	for r.left > 0 && len(r.doubtful) > 0 && !r.over() {
		last := len(r.doubtful) - 1
		b := r.doubtful[last]
		r.doubtful = r.doubtful[:last]
		switch {
		case r.kind.searched && !r.shallow && !r.fine && b.exact():
			r.tried = append(r.tried, b)
		case b.q1 == b.q2 && float64(b.t2) < float64(b.t1)*finest:
			kept = append(kept, b)
		default:
			r.divide(tl, b)
		}
	}
	r.doubtful = append(r.doubtful, kept...)
}

// finest is the ratio of times below which a doubtful box is left as it is. Windows that follow each other
// through the whole recording are told apart by less than others.
func (r *region) finest(tl *timeline.Timeline) float64 {
	const usual = 1.0005
	if r.kind.base.Align != spec.AlignUnknown {
		return usual
	}
	return min(usual, 1+float64(time.Millisecond)/float64(2*tl.End()+1))
}

func (r *region) divide(tl *timeline.Timeline, b box) {
	lower, upper := b.halves()
	r.take(tl, upper, lower)
}

// largest returns the box with most to find out, of those that are wanted; -1 where each is exact.
func largest(boxes []box, wanted func(box) bool) int {
	widest := -1
	for i, b := range boxes {
		if !b.exact() && wanted(b) && (widest < 0 || b.size() > boxes[widest].size()) {
			widest = i
		}
	}
	return widest
}

func anyBox(box) bool { return true }

// cut leaves of r the times of an interval, where some are.
func (r *region) cut(from, to time.Duration) {
	within := func(boxes []box) (out []box) {
		for _, b := range boxes {
			if b.t1, b.t2 = max(b.t1, from), min(b.t2, to); b.t1 <= b.t2 {
				out = append(out, b)
			}
		}
		return out
	}
	if live, doubtful := within(r.live), within(r.doubtful); len(live)+len(doubtful) > 0 {
		r.live, r.doubtful = live, doubtful
	}
}

// revived returns r with what was given up of it, but was not refuted; nil where nothing was.
func (r *region) revived() *region {
	if len(r.tried) == 0 {
		return nil
	}
	return &region{kind: r.kind, beside: r.beside, doubtful: r.tried, fine: true}
}

// empty tells whether the kind is refuted.
func (r *region) empty() bool { return len(r.live)+len(r.doubtful) == 0 }

// hull returns the box around all that is left.
func (r *region) hull() box { return hull(append(slices.Clone(r.live), r.doubtful...)) }

// hull returns the box around boxes, of which there is one at least.
func hull(boxes []box) box {
	h := boxes[0]
	for _, b := range boxes[1:] {
		h = box{min(h.q1, b.q1), max(h.q2, b.q2), min(h.t1, b.t1), max(h.t2, b.t2), min(h.d1, b.d1),
			max(h.d2, b.d2)}
	}
	return h
}

// points returns at most n policies, spread over what is left: over what is doubtful where nothing else is,
// or where that is asked for.
func (r *region) points(n int, doubtful bool) []box {
	boxes := r.live
	if len(boxes) == 0 || doubtful {
		boxes = append(slices.Clone(r.live), r.doubtful...)
	}
	var out []box
	step := max(1, (len(boxes)+n-1)/n)
	for i := 0; i < len(boxes); i += step {
		out = append(out, boxes[i].middle())
	}
	return out
}

// mostPinned is how many parts of the only limit that is left are tried.
const mostPinned = 200

// pinned returns a policy of what is left that explains the recording, the roundest about the first one that
// is found: what is live is divided, into most parts, and then what is doubtful. It reports false where none
// is found, or late tells that the time is over.
func (r *region) pinned(tl *timeline.Timeline, most int, late func() bool,
	explains func(box) bool) (box, bool) {
	for _, open := range [][]box{slices.Clone(r.live), slices.Clone(r.doubtful)} {
		for i := 0; i < min(most, len(open)) && !late(); i++ {
			for _, p := range []box{open[i].point(), open[i].middle()} {
				if explains(p) {
					return r.rounded(p, explains), true
				}
			}
			lower, upper := open[i].halves()
			for _, half := range []box{lower, upper} {
				if half.t1 < half.t2 && !r.refuted(tl, half) {
					open = append(open, half)
				}
			}
		}
	}
	return box{}, false
}

// rounded returns the roundest policy near p that explains the recording, as p does.
func (r *region) rounded(p box, explains func(box) bool) box {
	const steps = 12
	at := func(t time.Duration) box {
		out := p
		out.t1, out.t2 = t, t
		return out
	}
	end := func(out time.Duration) time.Duration { // the last that explains, from p on
		in := p.t1
		for range steps {
			if middle := in + (out-in)/2; explains(at(middle)) {
				in = middle
			} else {
				out = middle
			}
		}
		return in
	}
	h, near := r.hull(), p
	near.t1, near.t2 = end(h.t1), end(h.t2)
	if round := r.kind.usual(near); explains(round) {
		return round
	}
	return p
}
