package check

import (
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// measureLimit is the largest number of observations of a partition whose policy is measured: each parameter
// takes some thirty judgements at most.
const measureLimit = 2_000_000

// A measure asks leastBoxes of phases at least. A frugal one reads frugalEvents observations, and asks
// frugalBoxes where phases are not known. One of windows that the first request places asks
// anchoredBoxes in each stretch.
const (
	frugalEvents  = 1 << 11
	frugalBoxes   = 48
	leastBoxes    = 12
	anchoredBoxes = 128
)

// measure finds, for the burst (quota) and for the rate, the values that the partition does not refute, all
// other parameters held. Over-admission is refuted by small values, under-admission by large ones, so both
// ends are found by bisection.
func (c *caseFile) measure(p *part) verdict.Measured {
	if c.o.SkipMeasure || len(p.obs) > measureLimit {
		return verdict.Measured{}
	}
	if c.o.Shared { // denials prove nothing
		if c.o.Conformance == verdict.LowerBound {
			return verdict.Measured{}
		}
		if _, changed := besideOthers(c.declared); changed { // nor do admissions, of the declared limit
			return verdict.Measured{}
		}
		one := *c
		one.o.Conformance = verdict.UpperBound
		c = &one
	}
	ask := &asker{}
	if c.frugal {
		p = &part{name: p.name, histories: slices.Clone(p.histories)}
		for i, h := range p.histories {
			p.histories[i] = h.beginning(frugalEvents, counted(c.limit))
		}
	}
	if len(c.declared) == 1 {
		box, _ := phasesOf(c.declared[0], c.tl.Header)
		return gauge{c: c, h: p.histories[0], box: box, ask: ask, last: &search{}}.measure(c.declared[0])
	}
	var out verdict.Measured
	for i, pol := range c.declared {
		out.Policies = append(out.Policies, c.measureOne(p, i, pol, ask))
	}
	return out
}

// measureOne measures policy i of several, the others held: only the denials that none of them can explain
// prove anything. Of windows that the first counted request places, and that follow each other from there,
// nothing is measured.
func (c *caseFile) measureOne(p *part, i int, pol spec.Policy, ask *asker) verdict.Measured {
	if anchored(pol) {
		return verdict.Measured{}
	}
	h := *p.histories[i]
	own := c.unexplainedSeveral(p.histories, i, nil)
	h.denied = slices.DeleteFunc(slices.Clone(h.denied), func(d event) bool {
		_, ok := slices.BinarySearch(own, d.seq)
		return !ok
	})
	box, _ := phasesOf(pol, c.tl.Header)
	return gauge{c: c, h: &h, box: box, ask: ask, last: &search{}}.measure(pol)
}

// measure measures the burst, the rate and the phase.
func (m gauge) measure(pol spec.Policy) verdict.Measured {
	out := verdict.Measured{Burst: m.burst(pol), Phase: m.phase(pol)}
	if pol.InFlight() { // it has no rate
		return out
	}
	if pol.HasWindow() {
		units := float64(pol.Rate.N) * float64(time.Second)
		window := m.window(pol)
		out.Rate = verdict.Interval{Lo: units / window.Hi, Hi: units / window.Lo, LoSet: window.HiSet,
			HiSet: window.LoSet}
		return out
	}
	out.Rate = m.rate(pol)
	return out
}

// gauge judges one partition under policies that differ in one parameter.
type gauge struct {
	c   *caseFile
	h   *history
	box phases
	ask *asker
	// last is the search that was asked last for a phase.
	last *search
}

func (g gauge) refuted(pol spec.Policy, mode verdict.Conformance) bool {
	if g.c.o.Conformance != "" && g.c.o.Conformance != verdict.Exact && g.c.o.Conformance != mode {
		return false
	}
	if anchored(pol) {
		return len(refuteAnchored(g.h, pol, mode, anchoredBoxes).found) > 0
	}
	if g.box.from == g.box.to {
		return g.ask.refutes(g.h, g.bound(pol, g.box), mode)
	}
	if ranged(pol) && mode == verdict.UpperBound {
		_, pol = pol.Ends()
	} else if ranged(pol) {
		pol, _ = pol.Ends()
	}
	s := &search{policy: pol, mode: mode, group: &group{parts: []*history{g.h}}, ask: g.ask,
		few: max(g.c.share(gaugeWork, len(g.h.all))/(len(g.h.all)+1), leastBoxes)}
	if g.c.frugal {
		s.few = frugalBoxes
	}
	if old := g.last; old.group != nil && old.policy.Slot() == pol.Slot() { // whatever the burst
		s.beginnings, s.turns, s.begun = old.beginnings, old.turns, true
	}
	_, ok := s.refute(g.box)
	*g.last = *s
	return ok
}

// bound returns the bound of a policy, which may be one of several.
func (g gauge) bound(pol spec.Policy, box phases) bound {
	if len(g.c.limit) > 1 {
		return newBoundAmong(pol, box.from, box.to)
	}
	return newBound(pol, box.from, box.to)
}

// burst returns the bursts that are not refuted.
func (g gauge) burst(pol spec.Policy) verdict.Interval {
	with := func(b int64) spec.Policy { return pol.WithFull(b) }
	declared := pol.Full()
	ceiling := min(min(declared, maxTime>>12)<<12, maxTime/8/int64(pol.Rate.Per))
	iv := verdict.Interval{}
	if len(g.h.admitted) > 0 {
		lo := bisect(declared, 1, ceiling, func(b int64) bool { return !g.refuted(with(b), verdict.UpperBound) })
		iv.Lo, iv.LoSet = float64(lo), lo <= ceiling
	}
	if len(g.h.denied) > 0 {
		hi := bisect(declared+1, 1, ceiling, func(b int64) bool { return g.refuted(with(b), verdict.LowerBound) }) - 1
		iv.Hi, iv.HiSet = float64(hi), hi < ceiling
	}
	return iv
}

// rate returns the rates, per second, that are not refuted: between an eighth and eight times the declared
// one.
func (g gauge) rate(pol spec.Policy) verdict.Interval {
	pol, ok := g.divisible(pol)
	if !ok {
		return verdict.Interval{}
	}
	per := int64(pol.Rate.Per)
	with := func(per int64) spec.Policy { pol.Rate.Per = time.Duration(per); return pol }
	perSecond := func(per int64) float64 { return float64(pol.Rate.N) * 1e9 / float64(per) }
	least, most := max(per/8, 1), per*8
	iv := verdict.Interval{}
	if len(g.h.admitted) > 0 {
		// The longest period that is not over-admitted.
		slow := bisect(per+1, least, most, func(p int64) bool { return g.refuted(with(p), verdict.UpperBound) }) - 1
		iv.Lo, iv.LoSet = perSecond(max(slow, least)), slow < most
	}
	if len(g.h.denied) > 0 {
		// The shortest period that explains every denial.
		quick := bisect(per, least, most, func(p int64) bool { return !g.refuted(with(p), verdict.LowerBound) })
		iv.Hi, iv.HiSet = perSecond(min(quick, most)), quick > least
	}
	return iv
}

// leastParts is the least number of parts that the period of a rate is measured by.
const leastParts = 1 << 16

// divisible returns pol with its rate as a fraction of which every other denominator that is asked for stays
// in bounds: as it is declared or, where that has too many units, the finest one that does. ok=false where
// that is too coarse.
func (g gauge) divisible(pol spec.Policy) (fine spec.Policy, ok bool) {
	span, units := g.c.end+int64(g.c.tl.Header.Tick), volume(g.h.all)
	fits := func(p spec.Policy) bool {
		worst := bucket{n: max(p.Rate.N, p.RateTo), per: int64(p.Rate.Per) * 8,
			burst: max(p.Full(), p.BurstTo) + p.Fill}
		return int64(p.Rate.Per) <= math.MaxInt64/64 && worst.fits(span, units)
	}
	if fits(pol) {
		return pol, true
	}
	short := gcd(gcd(pol.Rate.N, int64(pol.Rate.Per)), pol.RateTo)
	pol.Rate.N, pol.Rate.Per, pol.RateTo = pol.Rate.N/short, pol.Rate.Per/time.Duration(short),
		pol.RateTo/short
	for next := pol; fits(next); {
		pol = next
		next.Rate.N, next.Rate.Per, next.RateTo = 2*pol.Rate.N, 2*pol.Rate.Per, 2*pol.RateTo
	}
	return pol, fits(pol) && pol.Rate.Per >= leastParts
}

// bisect returns the smallest x in [lo, hi] for which ok holds, hi+1 where it holds for none; ok must be
// monotone. It asks near a value first, and ever farther from it, as that is where what is sought mostly
// lies. Beyond a relative precision of one in a million it stops early, at a value for which ok holds.
func bisect(near, lo, hi int64, ok func(int64) bool) int64 {
	near = min(max(near, lo), hi)
	step := max(near>>10, 1)
	if ok(near) {
		for hi = near; lo < hi; step *= 4 {
			x := max(lo, hi-step)
			if !ok(x) {
				lo = x + 1
				break
			}
			hi = x
		}
	} else {
		for lo = near + 1; ; step *= 4 {
			if lo > hi {
				return lo
			}
			x := lo + min(step, hi-lo)
			if ok(x) {
				hi = x
				break
			}
			lo = x + 1
		}
	}
	for lo < hi && hi-lo > lo/1_000_000 {
		mid := lo + (hi-lo)/2
		if ok(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return hi
}
