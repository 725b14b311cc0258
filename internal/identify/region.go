package identify

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// How many judgements a region may ask for after a phase, and before its kind is called the only one.
const (
	fewAsked  = 100
	manyAsked = 2500
	// mostLive is into how many boxes the live boxes are divided.
	mostLive = 12
	// mostBroad is into how many boxes doubtful ones are divided before the smallest are divided first.
	mostBroad = 24
)

// region is what a recording leaves of a kind. Its boxes together hold every policy that is not refuted.
type region struct {
	kind *kind
	// beside is another limit that must admit too; nil for none.
	beside *region
	// Each live box has a point that is not refuted. A doubtful box is only not refuted as a whole. The
	// smallest doubtful boxes are divided first, so there are never many.
	live, doubtful []box
	// beats are the timers that are left of a bucket that a timer fills; nil for other kinds.
	beats *beats
	// last is the box that was refuted last.
	last box
	// left is how many judgements may still be asked for. shallow tells that an exact search would take too
	// long.
	left    int
	shallow bool
	// broad tells that the largest doubtful boxes are divided first, up to mostBroad boxes. Far from the
	// target, small boxes stay doubtful, so large ones that are easy to refute would never have their turn.
	broad bool
	// sharp tells that the ends of what is left are narrowed too, since no experiment follows.
	sharp bool
	// steady tells that a steady path is supposed. There experiments soon refute what would take the judge
	// long.
	steady bool
	// over tells that the judge was asked for long enough, late that it was for all regions; nil: it was not.
	over, late func() bool
	asker      asker
	// searches is how many exact searches may still be asked for.
	searches int
	// tried are boxes that were given up: no policy of them that was tried explains the recording. fine tells
	// that none is given up any more. again is what was given up, but not refuted, of a kind that is gone;
	// nil for nothing.
	tried []box
	fine  bool
	again *region
	memory
}

// refuted asks the judge about all policies of a box. With one quota it asks about both sides at once: one
// phase of the windows may admit too little, another too much. With several quotas the largest answers for
// what was admitted, since it admits no less, and the smallest for what was denied. That refutes little where
// the phase is unknown. So on a steady path both sides are asked about at once there.
func (r *region) refuted(tl *timeline.Timeline, b box) bool {
	r.left--
	if r.kind.seconds {
		return !r.asker.bySeconds(tl, r.with(r.kind.policy(b)))
	}
	parts := r.kind.each()
	joint := r.steady && r.kind.base.Align == spec.AlignUnknown
	if joint || b.q1 == b.q2 && (len(parts) == 1 || b.narrow()) {
		return !slices.ContainsFunc(parts,
			func(k *kind) bool { return !r.asked(tl, question{kind: k, box: b, side: verdict.Exact}) })
	}
	least, most := b, b
	least.q2, most.q1 = b.q1, b.q2
	return r.asked(tl, question{kind: parts[0], box: most, side: verdict.UpperBound}) ||
		r.asked(tl, question{kind: parts[len(parts)-1], box: least, side: verdict.LowerBound})
}

// with returns policies of r, together with all that is left of the other limit.
func (r *region) with(p spec.Policy) spec.Limit {
	if r.beside == nil {
		return spec.Limit{p}
	}
	return spec.Limit{p, r.beside.kind.policy(r.beside.hull())}
}

// everywhere asks the judge about p by its bounds. If windows are longer than the recording, most phases have
// no beginning in it. So it asks apart about those that have.
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
		return r.asker.refuted(tl, r.with(p), side, false)
	}
	inside, outside := p, p
	inside.Align, inside.PhaseFrom, inside.PhaseTo = spec.AlignPhase, 0, end
	outside.Align, outside.PhaseFrom, outside.PhaseTo = spec.AlignPhase, end, p.Rate.Per-1
	asks := func(p spec.Policy) bool { return r.asker.refuted(tl, r.with(p), side, false) }
	return asks(outside) && asks(inside)
}

// alone asks about each stretch alone, with windows at an unknown phase. Over a range of window lengths the
// phase is soon unknown again, so this loses little.
func (r *region) alone(tl *timeline.Timeline, p spec.Policy, side verdict.Conformance) bool {
	l := r.with(p)
	for i, part := range parted(anew(tl, silence(tl, l))) {
		if i > 0 && r.asker.refuted(fromZero(part), l, side, false) {
			return true
		}
	}
	return false
}

// looser asks about two logs and a bucket that are looser than every p, a window by the clock or a counter,
// at every phase. The judge refutes ranges of these more often and sooner.
//
// A window denies only if the quota was counted within its time, a counter within two. Both admit at most two
// quotas in the time of one. A bucket of two quotas admits all that windows do. For a counter the bucket
// holds one quota and two units, for a unit that has begun and for rounding. After a quota at the end of a
// window a counter admits at most its rate, as the weight of that window falls.
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
	return side != verdict.UpperBound && r.asker.refuted(tl, r.with(few), verdict.LowerBound, false) ||
		side != verdict.LowerBound && (r.asker.refuted(tl, r.with(many), verdict.UpperBound, false) ||
			r.asker.refuted(tl, r.with(bucket), verdict.UpperBound, false))
}

// split returns a region for each part of the kind, where little more is learnt about all parts together;
// else r itself. At most two quotas may be left then, and the time must be open by at most a tenth, or by two
// of the slowest answers. Two quotas stay: a counter that rounds up admits, except from rest, as one of a
// unit less that does not round.
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

// take sorts boxes into live and doubtful ones, and drops the refuted ones.
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

// takeInTime takes boxes until it is late. It returns the boxes that it did not judge.
func (r *region) takeInTime(tl *timeline.Timeline, boxes []box) []box {
	for i, b := range boxes {
		if r.late != nil && r.late() {
			return boxes[i:]
		}
		r.take(tl, b)
	}
	return nil
}

// stands tells whether some point of a box is not refuted. On a steady path it asks the exact search only
// about boxes so small that one point stands for all.
func (r *region) stands(tl *timeline.Timeline, b box) bool {
	const near = 1.1
	if r.steady && (b.q1 < b.q2 || float64(b.t2) > float64(b.t1)*near) {
		return !r.refuted(tl, b.point())
	}
	return r.explains(tl, b.point())
}

// explains tells whether nothing refutes a point: no bound and, where bounds alone miss much, no exact
// search.
func (r *region) explains(tl *timeline.Timeline, point box) bool {
	if !r.kind.searched || r.shallow || r.searches <= 0 {
		return !r.refuted(tl, point)
	}
	r.left--
	r.searches--
	for _, k := range r.kind.each() {
		if !r.asked(tl, question{kind: k, box: point, side: verdict.Exact, search: true}) {
			return true
		}
	}
	return false
}

// hit tells whether one of some policies spread over a box explains the recording.
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

// narrow removes what tl refutes and divides the rest, by about asked judgements.
func (r *region) narrow(tl *timeline.Timeline, asked int) {
	if r.beats != nil {
		r.byBeats(tl, asked)
		return
	}
	r.left, r.searches = asked, r.kind.mostSearched()
	if r.broad {
		r.searches *= 10 // far away bounds tell less, and a search takes milliseconds
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

// sharpen divides boxes at an end of what is left, since no experiment will narrow it.
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

// atEnd returns the largest box at an end of what is left; -1 where none is, or all are exact.
func (r *region) atEnd(boxes []box) int {
	if len(boxes) == 0 {
		return -1
	}
	h := r.hull()
	return largest(boxes, func(b box) bool {
		return b.q1 == h.q1 || b.q2 == h.q2 || b.t1 == h.t1 || b.t2 == h.t2
	})
}

// asUrgent has r judged for as long and as deeply as of.
func (r *region) asUrgent(of *region) {
	r.shallow, r.broad, r.steady = of.shallow, of.broad, of.steady
	r.over, r.late, r.asker = of.over, of.late, of.asker
}

// narrowed narrows r and the limit beside it, each together with all that is left of the other. It returns
// what is left, by parts of the kind once they are told apart, or else the region that is gone.
func (r *region) narrowed(tl *timeline.Timeline, asked int) (left []*region, gone *region) {
	if a := r.beside; a != nil {
		a.asUrgent(r)
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
			part.asUrgent(r)
			part.narrow(tl, asked)
		}
		if !part.empty() {
			left = append(left, part)
		}
	}
	return left, nil
}

// doubt divides doubtful boxes, the smallest first, until they are as narrow as the judge can tell.
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

// finest is the ratio between the ends of a time below which a doubtful box is kept as it is. Windows by the
// clock repeat through the whole recording, so their lengths are told apart more finely.
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

// largest returns the largest of the wanted boxes that are not exact; -1 for none.
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

// cut restricts the times of r to an interval, unless nothing would be left.
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

// revived returns a region of what was given up of r, but not refuted; nil for nothing.
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

// points returns at most n policies, spread over the live boxes. It includes the doubtful boxes if there are
// no live ones, or if doubtful.
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

// mostPinned is how many boxes of the only limit that is left are tried.
const mostPinned = 200

// pinned returns a policy that explains the recording: the roundest near the first one that it finds. It
// divides the live boxes, up to most, and then the doubtful ones. It reports false where it finds none in
// time.
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
	end := func(out time.Duration) time.Duration { // the last time that explains, from p on
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
