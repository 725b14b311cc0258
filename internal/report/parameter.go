package report

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Parameter is one parameter of a measured policy.
type Parameter struct {
	// Name is burst, quota, rate, and so on. Policy is the number of its policy, from 1; 0 if the limit has
	// only one.
	Name   string `json:"name"`
	Policy int    `json:"policy"`
	// Old and New are the values that the runs of a side together do not refute.
	Old result.Interval `json:"old"`
	New result.Interval `json:"new"`
	// Changed tells that no value explains both sides.
	Changed bool `json:"changed"`
	// perSecond tells that the parameter is a rate.
	perSecond bool
}

// Text formats one of the two intervals.
func (p *Parameter) Text(v result.Interval) string {
	if p.perSecond {
		return result.IntervalText(v, "/s", text.PerSecond)
	}
	return result.IntervalText(v, "", text.Whole)
}

// parameters compares what was measured of the declared policies. Both sides must declare the same
// algorithms, and all runs must have used fresh clients. If a declared burst does not hold, nothing is known
// about its rate.
func parameters(old, new []*result.Scenario) (out []Parameter) {
	l, k := old[0].Limit, new[0].Limit
	used := func(s *result.Scenario) bool { return !s.Fresh }
	if len(l) != len(k) || slices.ContainsFunc(old, used) || slices.ContainsFunc(new, used) {
		return nil
	}
	a, b := together(old), together(new)
	for i := range l {
		if l[i].Algorithm != k[i].Algorithm {
			return nil
		}
		of := 0
		if len(l) > 1 {
			of = i + 1
		}
		x, y := a.Of(i, len(l)), b.Of(i, len(l))
		out = addKnown(out, Parameter{Name: l[i].Noun(), Policy: of, Old: x.Burst, New: y.Burst})
		if !l[i].InFlight() && !result.Refuted(x.Burst, l[i]) && !result.Refuted(y.Burst, k[i]) {
			out = addKnown(out, Parameter{Name: "rate", Policy: of, Old: x.Rate, New: y.Rate,
				perSecond: true})
		}
	}
	return out
}

// addKnown adds a parameter if both sides know something about it.
func addKnown(out []Parameter, p Parameter) []Parameter {
	known := func(v result.Interval) bool { return (v.LoSet || v.HiSet) && !v.Empty() }
	if p.Old, p.New = p.Old.Finite(), p.New.Finite(); !known(p.Old) || !known(p.New) {
		return out
	}
	p.Changed = p.Old.Intersect(p.New).Empty()
	return append(out, p)
}

// together returns what several runs of a scenario measured: the intersection.
func together(runs []*result.Scenario) (m result.Measured) {
	for i, s := range runs {
		switch {
		case s.Judgement == nil:
		case i == 0:
			m = s.Judgement.Measured
		default:
			m = m.Intersect(s.Judgement.Measured)
		}
	}
	return m
}
