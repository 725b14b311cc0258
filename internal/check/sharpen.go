package check

import (
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// sharpWork is the work of all questions about one recording of up to sharpEvents observations. A larger
// recording has less, in proportion. Each partition has its share.
//
// The searches of one question may try a questionPart-th of it as decisions. A question whose search reaches
// that cap counts in full, any other by its observations. The number of decisions is not the same in every
// run, and the measured values must be. perObservation observations that the bounds judge in the search for a
// phase count as one.
const (
	sharpWork      = 1 << 18
	sharpEvents    = 1 << 14
	perObservation = 16
	questionPart   = 4
)

// sharpener asks the judge about the ends of what the bounds measured, since its exact search knows more. The
// partition keeps the limit, so the judge does not refute the declared values. The values around them are
// left.
type sharpener struct {
	c *Case
	p *Part
	// left is how much work is left, most is how much one question may take.
	left, most int
	// begin and units bound the products of a policy: when the first request was sent, and all units.
	begin time.Duration
	units int64
	// allowed: there are admissions, which refute small values. denied: there are denials, which refute large
	// values. Both only if they prove anything.
	allowed, denied bool
}

// sharpen returns the part of what was measured that the judge does not refute. p has no findings.
//
// Limits with ranges stay as the bounds measured them. Two recordings are compared by what each leaves of a
// range, and there may be values beyond a refuted one.
func (c *Case) sharpen(p *Part, m result.Measured) result.Measured {
	n := len(p.Obs)
	s := &sharpener{c: c, p: p, left: sharpWork / max(1, c.Observations/sharpEvents)}
	if n < c.Observations {
		s.left = int(float64(s.left) * float64(n) / float64(c.Observations))
	}
	if c.O.SkipMeasure || c.BoundsOnly || s.left < n/2 || !slices.Contains(c.Parts, p) ||
		slices.ContainsFunc(c.declared, limiter.Ranged) {
		return m
	}
	s.most = max(s.left/questionPart, 1)
	for i := range p.Obs {
		s.units, s.begin = s.units+p.Obs[i].Cost, min(s.begin, p.Obs[i].Sent)
	}
	s.proving()
	if len(c.declared) == 1 {
		s.burst(0, &m.Burst)
		s.rate(0, &m.Rate)
	}
	for i := range m.Policies {
		s.burst(i, &m.Policies[i].Burst)
		s.rate(i, &m.Policies[i].Rate)
	}
	return m
}

// proving sets allowed and denied.
func (s *sharpener) proving() {
	c := s.c
	for _, h := range s.p.Histories {
		s.allowed, s.denied = s.allowed || len(h.Admitted) > 0, s.denied || len(h.Denied) > 0
	}
	// A denial proves nothing, nor does an admission if others loosen the limit.
	if c.O.Shared {
		_, changed := loosen(c.declared)
		s.allowed, s.denied = s.allowed && !changed, false
	}
	s.allowed = s.allowed && c.O.Conformance != result.LowerBound
	s.denied = s.denied && c.O.Conformance != result.UpperBound
}

// burst sharpens the interval of bursts of policy i.
func (s *sharpener) burst(i int, iv *result.Interval) {
	p := s.c.declared[i]
	v := value{s, i, p.Full(), p.WithFull, true}
	if s.allowed && iv.LoSet && !p.Queued() { // an admission may have waited for its decision
		if lo, ok := v.inward(-1, int64(iv.Lo)); ok {
			iv.Lo = float64(lo)
		}
	}
	most := ceilingOf(p)
	if iv.HiSet {
		most = int64(iv.Hi)
	}
	if s.denied {
		if hi, ok := v.inward(1, most); ok {
			iv.Hi, iv.HiSet = float64(hi), true
		}
	}
}

// rate sharpens the interval of rates of policy i, by the times in which its units come back.
func (s *sharpener) rate(i int, iv *result.Interval) {
	p := s.c.declared[i]
	if p.InFlight() || p.Align == spec.AlignCalendar {
		return
	}
	if !p.HasWindow() {
		var ok bool
		if p, ok = divisible(p, s.c.End-int64(s.begin-s.c.Rec.Header.Tick), s.units); !ok {
			return
		}
	} else if p.Align == spec.AlignClock { // a window of another length has another phase
		p.Align = spec.AlignShared
	}
	per, units := int64(p.Rate.Per), float64(p.Rate.N)*float64(time.Second)
	v := value{s, i, per, func(per int64) spec.Policy {
		other := p
		other.Rate.Per = time.Duration(per)
		return other
	}, false}
	longest, shortest := per*windowReach, max(per/windowReach, 1)
	if iv.LoSet {
		longest = int64(math.Round(units / iv.Lo))
	}
	if iv.HiSet {
		shortest = int64(math.Round(units / iv.Hi))
	}
	if s.allowed {
		if end, ok := v.inward(1, longest); ok {
			iv.Lo, iv.LoSet = units/float64(end), true
		}
	}
	if s.denied {
		if end, ok := v.inward(-1, shortest); ok {
			iv.Hi, iv.HiSet = units/float64(end), true
		}
	}
}

// value is one number of policy i. declared is its declared value, with returns the policy with another
// value.
type value struct {
	*sharpener
	i        int
	declared int64
	with     func(int64) spec.Policy
	// whole: it is a number of units.
	whole bool
}

// A value that is no number of units is measured to an inwardParts-th of what the bounds left of it, or to an
// inwardOf-th of itself. If the bounds left no more than an inwardNear-th of it, that is near enough: where
// windows of almost the declared length begin takes long to search.
const (
	inwardNear  = 500
	inwardParts = 1 << 11
	inwardOf    = 100_000
)

// inward returns the last value before end, from the declared one on, that is not refuted, as far as the work
// allows. side is 1 for an end above the declared value, -1 for one below it. ok=false: the end stays.
//
// It asks for values from the declared one outward, as the next whole unit is mostly refuted. Of other values
// it asks the end first, as that is mostly not refuted.
func (v value) inward(side, end int64) (at int64, ok bool) {
	refuted := func(distance int64) bool { return v.refutes(v.with(v.declared + side*distance)) }
	b := bisection{lo: 1, hi: (end - v.declared) * side, step: max(v.declared>>10, 1)}
	if b.hi < 1 || !v.whole && (b.hi <= v.declared/inwardNear || !refuted(b.hi)) {
		return end, false
	}
	if !v.whole {
		b.precision = max(b.hi/inwardParts, v.declared/inwardOf)
	}
	bad := b.first(b.step, refuted)
	return v.declared + side*(bad-1), bad <= b.hi
}

// refutes asks the judge about the limit with p in place of policy i. false proves nothing.
func (v value) refutes(p spec.Policy) bool {
	c, limit := v.c, slices.Clone(v.c.declared)
	limit[v.i] = p
	if _, err := reference.NewLimit(limit); err != nil {
		return p.Full() < c.declared[v.i].Full() // it cannot hold a batch, or its level at the start
	}
	if v.left <= 0 || FitsSpan(&c.Rec.Header, limit, v.begin, time.Duration(c.End), v.units) != nil {
		return false
	}
	q := c.under(limit, v.p, v.most)
	q.Judge()
	asked := q.Parts[0]
	if v.left -= len(v.p.Obs) + asked.bounded/perObservation; asked.Search.Capped {
		v.left -= v.most
	}
	return len(asked.Findings) > 0
}

// under returns the case of one partition under another limit, to be judged with so much work.
func (c *Case) under(limit spec.Limit, p *Part, work int) *Case {
	q := *c
	q.declared, q.Limit, q.work, q.Quick = limit, limiter.Lasting(limit), work, true
	q.ask = &limiter.Scratch{}
	if c.O.Shared {
		q.O.Conformance = result.UpperBound
	}
	one := &Part{Partition: p.Partition, Histories: p.Histories}
	q.Parts = []*Part{one}
	if q.Edges = limiter.EdgesOf(c.Rec.Header, q.Limit); q.Edges != nil { // they depend on the limit's memory
		one.Histories = nil
		q.prepare(one)
	}
	q.Observations = len(p.Obs)
	return &q
}
