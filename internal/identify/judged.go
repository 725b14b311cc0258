package identify

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// memory has what the judge answered about a region, on one recording.
type memory struct {
	of      *timeline.Timeline
	answers map[question]bool
}

// question is what the judge is asked about all policies of a box, or of a point by the exact search.
type question struct {
	kind   *Kind
	box    Box
	side   result.Conformance
	search bool
}

// asked asks everywhere, or the exact search, once for each question. One half of a box has the larger quota
// of the whole, and the other half the smaller. What is narrowed again was asked about before.
func (r *Region) asked(tl *timeline.Timeline, q question) bool {
	if m := &r.memory; m.of != tl {
		if m.of == nil {
			m.answers = map[question]bool{}
		} else if !reflect.DeepEqual(m.of, tl) { // what a part refutes, the whole refutes
			maps.DeleteFunc(m.answers, func(_ question, no bool) bool { return !no })
		}
		m.of = tl
	}
	no, known := r.answers[q]
	if !known {
		if q.search {
			no = r.Asker.Refuted(tl, spec.Limit{q.kind.Policy(q.box)}, q.side, true)
		} else {
			no = r.everywhere(tl, q.kind.Policy(q.box), q.side)
		}
		r.answers[q] = no
	}
	return no
}

// Refuted asks the judge about all policies of a box. With one quota it asks about both sides at once: one
// phase of the windows may admit too little, another too much. With several quotas the largest answers for
// what was admitted, since it admits no less, and the smallest for what was denied.
func (r *Region) Refuted(tl *timeline.Timeline, b Box) bool {
	r.Judgements--
	parts := r.Kind.Each()
	if b.Q1 == b.Q2 && (len(parts) == 1 || b.narrow()) {
		return !slices.ContainsFunc(parts,
			func(k *Kind) bool { return !r.asked(tl, question{kind: k, box: b, side: result.Exact}) })
	}
	least, most := b, b
	least.Q2, most.Q1 = b.Q1, b.Q2
	return r.asked(tl, question{kind: parts[0], box: most, side: result.UpperBound}) ||
		r.asked(tl, question{kind: parts[len(parts)-1], box: least, side: result.LowerBound})
}

// everywhere asks the judge about p by its bounds. If windows are longer than the recording, most phases have
// no beginning in it. So it asks apart about those that have.
func (r *Region) everywhere(tl *timeline.Timeline, p spec.Policy, side result.Conformance) bool {
	clocked := p.Fixed() && p.Align == spec.AlignUnknown && p.Ban == 0
	if (p.Weighs() || clocked) && r.Looser(tl, p, side) {
		return true
	}
	if p.Bucketed() && p.Count == spec.CountAll && side != result.LowerBound &&
		refilled(tl, p.Rate.Per/time.Duration(max(p.Rate.N, p.RateTo))) {
		return true
	}
	end := tl.End() + tl.Header.Tick + time.Millisecond
	if p.Align != spec.AlignUnknown || p.Rate.Per < 2*end || Several(tl) {
		return r.Asker.Refuted(tl, spec.Limit{p}, side, false)
	}
	inside, outside := p, p
	inside.Align, inside.PhaseFrom, inside.PhaseTo = spec.AlignPhase, 0, end
	outside.Align, outside.PhaseFrom, outside.PhaseTo = spec.AlignPhase, end, p.Rate.Per-1
	asks := func(p spec.Policy) bool { return r.Asker.Refuted(tl, spec.Limit{p}, side, false) }
	return asks(outside) && asks(inside)
}

// refilled tells whether an admission came sooner after a denial than a unit comes back. A bucket that
// charges denied requests is empty after each, so its next admission comes a unit later. The bounds do not
// say so.
func refilled(tl *timeline.Timeline, unit time.Duration) bool {
	all, h := tl.Observations, &tl.Header
	for i := range all {
		a := &all[i]
		soonest := a.FirstByte + h.Tick + a.FirstByte/1_000_000*time.Duration(h.DriftPPM) - unit
		for j := i - 1; j >= 0 && a.Outcome == timeline.Allowed && all[j].Sent > soonest; j-- {
			d := &all[j]
			if d.Outcome == timeline.Denied && d.Partition == a.Partition && d.FirstByte < a.Sent {
				return true
			}
		}
	}
	return false
}

// Looser asks about two logs and a bucket that are looser than every p, a window by the clock or a counter,
// at every phase. The judge refutes ranges of these more often and sooner.
//
// A window denies only if the quota was counted within its time, a counter within two. Both admit at most two
// quotas in the time of one. A bucket of two quotas admits all that windows do. For a counter the bucket
// holds one quota and two units, for a unit that has begun and for rounding. After a quota at the end of a
// window a counter admits at most its rate, as the weight of that window falls.
func (r *Region) Looser(tl *timeline.Timeline, p spec.Policy, side result.Conformance) bool {
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
	return side != result.UpperBound && r.Asker.Refuted(tl, spec.Limit{few}, result.LowerBound, false) ||
		side != result.LowerBound && (r.Asker.Refuted(tl, spec.Limit{many}, result.UpperBound, false) ||
			r.Asker.Refuted(tl, spec.Limit{bucket}, result.UpperBound, false))
}

// stands tells whether the middle point of a box is not refuted.
func (r *Region) stands(tl *timeline.Timeline, b Box) bool { return r.explains(tl, b.Point()) }

// explains tells whether nothing refutes a point: no bound and, where bounds alone miss much, no exact
// search.
func (r *Region) explains(tl *timeline.Timeline, point Box) bool {
	if !r.Kind.Searched || r.Shallow || r.searches <= 0 {
		return !r.Refuted(tl, point)
	}
	r.Judgements--
	r.searches--
	for _, k := range r.Kind.Each() {
		if !r.asked(tl, question{kind: k, box: point, side: result.Exact, search: true}) {
			return true
		}
	}
	return false
}

// hit tells whether one of some policies spread over a box explains the recording.
func (r *Region) hit(tl *timeline.Timeline, b Box) bool {
	const tries = 5
	for i := range time.Duration(tries) {
		p := b
		p.T1 += (b.T2 - b.T1) * i / (tries - 1)
		p.T2 = p.T1
		if r.explains(tl, p) {
			return true
		}
	}
	return false
}
