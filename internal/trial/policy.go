package trial

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

// MeasuredPolicy joins what the scenarios of a run measured. It takes the limiter that most scenarios
// measured, or the first of several, and intersects their intervals. It returns nil if nothing was measured.
//
// Scenarios may share clients, since no recording takes the past of its clients for known. A scenario whose
// phases have limits of their own measured its limit on some clients only, which counts in full. A scenario
// that fails without a single denial met no limit: it is used only if no other scenario measured one. One
// that fails only by who its clients are says nothing of the quota, and is never used.
func MeasuredPolicy(scenarios []result.Scenario) *result.Policy {
	unlimited := func(s *result.Scenario) bool {
		return s.Verdict == result.Fail && s.Counts.Denied == 0 || s.Beyond()
	}
	groups := groupsOf(scenarios, unlimited)
	if len(groups) == 0 {
		groups = groupsOf(scenarios, (*result.Scenario).Beyond)
	}
	var most *group
	for _, g := range groups {
		if most == nil || len(g.of) > len(most.of) {
			most = g
		}
	}
	if most == nil {
		return nil
	}
	out := &result.Policy{Limit: most.limit, Measured: most.measured}
	for _, s := range most.of {
		out.From = append(out.From, s.ID)
	}
	for _, g := range groupsOf(scenarios, func(s *result.Scenario) bool { return !keeps(s) }) {
		if out.Contradiction == nil {
			out.Contradiction = g.contradiction()
		}
	}
	return out
}

// keeps tells whether the recording of s is consistent with its limit. It may be inconclusive only because it
// measured too little.
func keeps(s *result.Scenario) bool {
	j := s.Judgement
	return s.Verdict != result.Fail && (j.Verdict == result.Pass || j.Unresolved)
}

// group is the scenarios that measured one limiter, and the intersection of what they measured.
type group struct {
	limit    spec.Limit
	of       []*result.Scenario
	measured result.Measured
}

// groupsOf groups the scenarios that measured anything by their limiter, in the order of the run. It skips
// those for which leftOut is true.
func groupsOf(scenarios []result.Scenario, leftOut func(*result.Scenario) bool) []*group {
	var all []*group
	at := map[string]*group{}
	for i := range scenarios {
		s := &scenarios[i]
		if len(s.Limit) == 0 || s.Judgement == nil || leftOut(s) ||
			!tells(s.Judgement.Measured, len(s.Limit)) {
			continue
		}
		g := at[limiterOf(s)]
		if g == nil {
			g = &group{limit: s.Limit, measured: s.Judgement.Measured}
			at[limiterOf(s)], all = g, append(all, g)
		}
		g.measured = g.measured.Intersect(s.Judgement.Measured)
		g.of = append(g.of, s)
	}
	return all
}

// limiterOf returns a key for the limiter that a scenario met: its limit and its target. Each scenario starts
// its own embedded target; with the same store and fault it counts as the same limiter.
func limiterOf(s *result.Scenario) string {
	if s.Store != "" {
		return s.Limit.String() + " " + s.Store + " " + s.Fault
	}
	return s.Limit.String() + " " + s.Target
}

// contradiction returns two recordings that no single value of a parameter explains, though each alone keeps
// the declared range. It returns nil if there are none.
func (g *group) contradiction() *result.Contradiction {
	for i, p := range g.limit {
		for _, rate := range []bool{false, true} {
			high, low := g.of[0], g.of[0] // with the highest lower end, with the lowest upper end
			a, b := g.value(high, i, rate), g.value(low, i, rate)
			for _, s := range g.of[1:] {
				v := g.value(s, i, rate)
				if v.LoSet && (!a.LoSet || v.Lo > a.Lo) {
					high, a = s, v
				}
				if v.HiSet && (!b.HiSet || v.Hi < b.Hi) {
					low, b = s, v
				}
			}
			if !a.LoSet || !b.HiSet || a.Lo <= b.Hi+precision*b.Hi {
				continue
			}
			noun, unit, words := p.Noun(), "", text.Whole
			if rate {
				noun, unit, words = "rate", "/s", text.PerSecond
			}
			return &result.Contradiction{Between: [2]string{low.ID, high.ID}, Text: fmt.Sprintf(
				"no %s explains both: at most %s%s in %s, at least %s%s in %s", noun,
				words(b.Hi, true), unit, recordingOf(low), words(a.Lo, false), unit, recordingOf(high))}
		}
	}
	return nil
}

// precision is a relative margin, above that with which the judge finds the ends of an interval.
const precision = 1e-5

// value is the interval that s measured for policy i: its rate, or else its burst.
func (g *group) value(s *result.Scenario, i int, rate bool) result.Interval {
	if m := s.Judgement.Measured.Of(i, len(g.limit)); rate {
		return m.Rate
	} else {
		return m.Burst
	}
}

func recordingOf(s *result.Scenario) string {
	if s.TimelinePath == "" {
		return s.ID
	}
	return s.ID + " (" + s.TimelinePath + ")"
}

// tells tells whether m has any bound on the burst or the rate of a limit of n policies.
func tells(m result.Measured, n int) bool {
	for i := range n {
		one := m.Of(i, n)
		if one.Burst.LoSet || one.Burst.HiSet || one.Rate.LoSet || one.Rate.HiSet {
			return true
		}
	}
	return false
}
