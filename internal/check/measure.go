package check

import (
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// measuredEvents is how many observations of a partition are measured, its first ones. Each parameter takes
// some thirty judgements at most.
const measuredEvents = 200_000

// The limits of a measurement. It asks leastBoxes of phases at least. A frugal one reads frugalEvents
// observations, and asks frugalBoxes where phases are not known. For windows that the first request places,
// anchoredBoxes are asked in each stretch.
const (
	frugalEvents  = 1 << 11
	frugalBoxes   = 48
	leastBoxes    = 12
	anchoredBoxes = 128
)

// Measure finds the values of the burst (quota) and of the rate that the partition does not refute, with all
// other parameters held. Over-admission refutes small values, under-admission large ones, so bisection finds
// both ends.
func (c *Case) Measure(p *Part) result.Measured {
	if c.O.SkipMeasure {
		return result.Measured{}
	}
	if c.O.Shared { // denials prove nothing
		if c.O.Conformance == result.LowerBound {
			return result.Measured{}
		}
		if _, changed := loosen(c.declared); changed { // nor do admissions, of the declared limit
			return result.Measured{}
		}
		one := *c
		one.O.Conformance = result.UpperBound
		c = &one
	}
	if len(c.declared) == 1 {
		return c.gauge(p).measure(c.declared[0])
	}
	ask := &limiter.Scratch{}
	p = c.sampled(p)
	var out result.Measured
	for i, pol := range c.declared {
		out.Policies = append(out.Policies, c.measureOne(p, i, pol, ask))
	}
	return out
}

// sampled returns the first observations of a partition, as many as are measured.
func (c *Case) sampled(p *Part) *Part {
	most := measuredEvents
	if c.Frugal {
		most = frugalEvents
	}
	p = &Part{Histories: slices.Clone(p.Histories)}
	for i, h := range p.Histories {
		p.Histories[i] = h.Beginning(most, search.Counted(c.Limit))
	}
	return p
}

// gauge returns the gauge of a partition for the only policy.
func (c *Case) gauge(p *Part) Gauge {
	box, _ := PhasesOf(c.declared[0], c.Rec.Header)
	return Gauge{Case: c, History: c.sampled(p).Histories[0], Box: box, Ask: &limiter.Scratch{},
		last: &PhaseSearch{}, broken: len(p.Findings) > 0}
}

// measureOne measures policy i of several, with the others held. Only denials that no other policy can
// explain prove anything. Nothing is measured of an anchored counter, whose windows follow from the first
// counted request.
func (c *Case) measureOne(p *Part, i int, pol spec.Policy, ask *limiter.Scratch) result.Measured {
	if limiter.Anchored(pol) {
		return result.Measured{}
	}
	h := *p.Histories[i]
	own := c.unexplainedSeveral(p.Histories, c.severalBounds(nil), i)
	h.Denied = slices.DeleteFunc(slices.Clone(h.Denied), func(i int32) bool {
		_, ok := slices.BinarySearch(own, h.All[i].Seq)
		return !ok
	})
	box, _ := PhasesOf(pol, c.Rec.Header)
	return Gauge{Case: c, History: &h, Box: box, Ask: ask, last: &PhaseSearch{}}.measure(pol)
}

// measure measures the burst, the rate and the phase.
func (m Gauge) measure(pol spec.Policy) result.Measured {
	out := result.Measured{Burst: m.burst(pol)}
	if pol.InFlight() || pol.Align == spec.AlignCalendar || pol.HasWindow() && len(m.History.Denied) == 0 &&
		history.Volume(m.History.All) <= pol.Full() {
		// It has no rate, or windows of any length and phase admit all of it.
		return out
	}
	out.Phase = m.phase(pol)
	out.Rate = m.back(pol)
	return out
}

// back returns the interval of rates, per second, at which units come back, that are not refuted. Of windows
// it is their quota by their length.
func (m Gauge) back(pol spec.Policy) result.Interval {
	if !pol.HasWindow() {
		return m.rate(pol)
	}
	units := float64(pol.Rate.N) * float64(time.Second)
	window := m.Window(pol)
	return result.Interval{Lo: units / window.Hi, Hi: units / window.Lo, LoSet: window.HiSet,
		HiSet: window.LoSet}
}

// Gauge judges one partition under policies that differ in one parameter.
type Gauge struct {
	Case    *Case
	History *history.History
	Box     history.Interval
	Ask     *limiter.Scratch
	// broken: the partition fails.
	broken bool
	// last is the latest search for a phase. Its lists are used again.
	last *PhaseSearch
}

func (g Gauge) refuted(pol spec.Policy, mode result.Conformance) bool {
	if g.Case.O.Conformance != "" && g.Case.O.Conformance != result.Exact && g.Case.O.Conformance != mode {
		return false
	}
	if limiter.Anchored(pol) {
		return len(RefuteAnchored(g.History, pol, mode, anchoredBoxes).Found) > 0
	}
	if g.Box.From == g.Box.To {
		return g.Ask.Refutes(g.History, g.bound(pol, g.Box), mode)
	}
	if limiter.Ranged(pol) && mode == result.UpperBound {
		_, pol = pol.Ends()
	} else if limiter.Ranged(pol) {
		pol, _ = pol.Ends()
	}
	s := &PhaseSearch{Policy: pol, Mode: mode, Group: &Group{Parts: []*history.History{g.History}},
		Scratch: g.Ask,
		Few:     max(g.Case.share(gaugeWork, len(g.History.All))/(len(g.History.All)+1), leastBoxes)}
	if g.Case.Frugal {
		s.Few = frugalBoxes
	}
	// The beginnings of windows are the same, whatever the burst.
	if old := g.last; old.Group != nil && old.Policy.ShortestWindow() == pol.ShortestWindow() {
		s.Beginnings, s.Breakpoints, s.Begun = old.Beginnings, old.Breakpoints, true
	}
	_, ok := s.Refute(g.Box)
	*g.last = *s
	return ok
}

// admittedOnly returns the bucket that alone bounds what pol admits. ok=false: there is none, or admissions
// prove nothing.
func (g Gauge) admittedOnly(pol spec.Policy) (limiter.Bucket, bool) {
	b, ok := limiter.AdmittedOnly(pol)
	return b, ok && g.Case.O.Conformance != result.LowerBound
}

// bound returns the bound of a policy, which may be one of several.
func (g Gauge) bound(pol spec.Policy, box history.Interval) limiter.Bound {
	if len(g.Case.Limit) > 1 {
		return limiter.NewBoundAmong(pol, box.From, box.To)
	}
	return limiter.NewBound(pol, box.From, box.To)
}

// burst returns the interval of bursts that are not refuted.
func (g Gauge) burst(pol spec.Policy) result.Interval {
	with := func(b int64) spec.Policy { return pol.WithFull(b) }
	declared := pol.Full()
	ceiling := ceilingOf(pol)
	iv := result.Interval{}
	if len(g.History.Admitted) > 0 {
		var lo int64
		if b, ok := g.admittedOnly(pol); ok {
			lo = min(b.LeastBurst(g.History), ceiling+1)
		} else {
			lo = around(declared, 1, ceiling).first(declared,
				func(b int64) bool { return !g.refuted(with(b), result.UpperBound) })
		}
		iv.Lo, iv.LoSet = float64(lo), lo <= ceiling
	}
	if len(g.History.Denied) > 0 {
		hi := around(declared, 1, ceiling).first(declared+1,
			func(b int64) bool { return g.refuted(with(b), result.LowerBound) }) - 1
		iv.Hi, iv.HiSet = float64(hi), hi < ceiling
	}
	return iv
}

// ceilingOf returns the largest burst that is asked for.
func ceilingOf(pol spec.Policy) int64 {
	most := history.MaxTime / 8 / int64(pol.Rate.Per) // a bucket multiplies units by times
	if pol.HasWindow() && (pol.Fixed() || !pol.Windowed()) {
		most = max(most, history.MaxTime>>24) // these multiply units by a number of windows
	}
	return min(min(pol.Full(), history.MaxTime>>12)<<12, most)
}

// rate returns the interval of rates, per second, that are not refuted. It looks between an eighth and eight
// times the declared rate.
func (g Gauge) rate(pol spec.Policy) result.Interval {
	pol, ok := divisible(pol, g.Case.End+int64(g.Case.Rec.Header.Tick), history.Volume(g.History.All))
	if !ok {
		return result.Interval{}
	}
	per := int64(pol.Rate.Per)
	with := func(per int64) spec.Policy { pol.Rate.Per = time.Duration(per); return pol }
	perSecond := func(per int64) float64 { return float64(pol.Rate.N) * 1e9 / float64(per) }
	least, most := max(per/8, 1), per*8
	iv := result.Interval{}
	if len(g.History.Admitted) > 0 {
		// The longest period under which no admission is one too many.
		var slow int64
		if b, ok := g.admittedOnly(pol); ok {
			slow = b.LongestPeriod(g.History, least, most)
		} else {
			slow = around(per, least, most).first(per+1,
				func(p int64) bool { return g.refuted(with(p), result.UpperBound) }) - 1
		}
		iv.Lo, iv.LoSet = perSecond(max(slow, least)), slow < most
	}
	if len(g.History.Denied) > 0 {
		// The shortest period that explains every denial.
		quick := around(per, least, most).first(per,
			func(p int64) bool { return !g.refuted(with(p), result.LowerBound) })
		iv.Hi, iv.HiSet = perSecond(min(quick, most)), quick > least
	}
	return iv
}

// leastParts is the least number of nanoseconds of a period that is measured. Below it the steps between
// whole nanoseconds are too coarse.
const leastParts = 1 << 16

// divisible returns pol with its rate as another fraction, if need be. Every denominator that is asked for
// must keep all products in bounds, over span nanoseconds and so many units. The declared fraction is taken
// if it does, otherwise the finest one that does. ok=false: that is too coarse.
func divisible(pol spec.Policy, span, units int64) (fine spec.Policy, ok bool) {
	fits := func(p spec.Policy) bool {
		worst := limiter.Bucket{N: max(p.Rate.N, p.RateTo), Per: int64(p.Rate.Per) * 8,
			Burst: max(p.Full(), p.BurstTo) + p.Fill}
		return int64(p.Rate.Per) <= math.MaxInt64/64 && worst.Fits(span, units)
	}
	if fits(pol) {
		return pol, true
	}
	short := history.Gcd(history.Gcd(pol.Rate.N, int64(pol.Rate.Per)), pol.RateTo)
	pol.Rate.N, pol.Rate.Per, pol.RateTo = pol.Rate.N/short, pol.Rate.Per/time.Duration(short),
		pol.RateTo/short
	for next := pol; fits(next); {
		pol = next
		next.Rate.N, next.Rate.Per, next.RateTo = 2*pol.Rate.N, 2*pol.Rate.Per, 2*pol.RateTo
	}
	return pol, fits(pol) && pol.Rate.Per >= leastParts
}

// bisection looks for a value from lo to hi, to a precision. It first steps away from where the answer mostly
// lies, ever farther.
type bisection struct{ lo, hi, step, precision int64 }

// around looks near a declared value, to a millionth of it.
func around(declared, lo, hi int64) bisection {
	return bisection{lo, hi, max(declared>>10, 1), declared / 1_000_000}
}

// first returns the smallest value for which ok holds, or hi+1 if there is none. ok must be monotone. It is
// asked near a value first. The result may be larger by the precision.
func (b bisection) first(near int64, ok func(int64) bool) int64 {
	lo, hi, step := b.lo, b.hi, b.step
	near = min(max(near, lo), hi)
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
	for lo < hi && hi-lo > b.precision {
		mid := lo + (hi-lo)/2
		if ok(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return hi
}

// The phase is measured on partitions of up to phaseLimit observations, to a phaseParts-th of the window. It
// is measured to a fewParts-th at least if more would take over phaseWork judged observations. Of more than
// fewPartitions partitions, each is measured to a coarser part, as no verdict depends on so many phases.
const (
	phaseLimit = 20_000
	phaseParts = 1 << 9
	fewParts   = 1 << 4
	phaseWork  = 1 << 24

	fewPartitions = 4
)

// phase returns the shortest interval that holds all window phases that the partition does not refute. Its
// unit is nanoseconds since the start of the recording, and it may reach beyond one window. Unset: the phase
// is known, or no phase is refuted.
func (g Gauge) phase(pol spec.Policy) result.Interval {
	size := int64(pol.LongestWindow())
	if !pol.Windowed() || pol.Align == spec.AlignFirst || g.Box.From == g.Box.To ||
		len(g.History.All) > phaseLimit {
		return result.Interval{}
	}
	s := &PhaseSearch{Policy: pol, Mode: g.Case.O.Conformance,
		Group: &Group{Parts: []*history.History{g.History}}, Quick: true,
		Scratch: g.Ask}
	s.Begin(g.Box)
	n := len(g.History.All)
	most := max(phaseParts/max(len(g.Case.Parts)/fewPartitions, 1), fewParts)
	parts := min(max(g.Case.share(phaseWork, n)/(n+1), fewParts), most)
	left := s.Survivors(g.Box, max((g.Box.To-g.Box.From)/int64(parts), 1))
	whole := g.Box.To-g.Box.From >= size-1
	if len(left) == 0 || whole && len(left) == 1 && left[0] == g.Box {
		return result.Interval{}
	}
	box := history.Interval{From: left[0].From, To: left[len(left)-1].To}
	if whole { // the box is a circle: leave out its widest refuted arc
		box = Arc(left, size)
	}
	return result.Interval{Lo: float64(box.From), Hi: float64(box.To), LoSet: true, HiSet: true}
}
