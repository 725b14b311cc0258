package trial

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// MeasuredPolicy joins what scenarios measured: the intersection over those that declare one limit and have
// clients that no other run had, for the limit that most of them declare (of several, the first). A scenario
// whose phases have limits of their own measured its limit on some of its clients only, which is as good. One
// that fails without a single denial met no limit: it is joined only where no other measured one. It returns
// nil where nothing was measured.
func MeasuredPolicy(scenarios []result.Scenario) *result.Policy {
	limited := slices.DeleteFunc(slices.Clone(scenarios), func(s result.Scenario) bool {
		return s.Verdict == verdict.Fail && s.Counts.Denied == 0
	})
	if p := joined(limited); p != nil {
		return p
	}
	return joined(scenarios)
}

// joined joins what scenarios measured of the limit that most of them declare; nil where nothing was.
func joined(scenarios []result.Scenario) *result.Policy {
	var all []*result.Policy
	at := map[string]*result.Policy{}
	for i := range scenarios {
		s := &scenarios[i]
		if !s.Fresh || len(s.Limit) == 0 || s.Judgement == nil || !tells(s.Judgement.Measured, len(s.Limit)) {
			continue
		}
		p := at[s.Limit.String()]
		if p == nil {
			p = &result.Policy{Limit: s.Limit}
			at[s.Limit.String()] = p
			all = append(all, p)
		}
		if len(p.From) == 0 {
			p.Measured = s.Judgement.Measured
		} else {
			p.Measured = p.Measured.Intersect(s.Judgement.Measured)
		}
		p.From = append(p.From, s.ID)
	}
	var most *result.Policy
	for _, p := range all {
		if most == nil || len(p.From) > len(most.From) {
			most = p
		}
	}
	return most
}

// tells tells whether something was measured of a limit of n policies.
func tells(m verdict.Measured, n int) bool {
	for i := range n {
		one := m.Of(i, n)
		if one.Burst.LoSet || one.Burst.HiSet || one.Rate.LoSet || one.Rate.HiSet {
			return true
		}
	}
	return false
}
