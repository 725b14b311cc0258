package trial

import (
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Together combines the scenarios of a run. It returns their measured policy, and the scenarios with their
// final verdicts. A scenario that measured too little alone passes if two things hold. Its own recording came
// close, and the scenarios of the same limiter that keep their limit measured enough together. recorded does
// not change.
func Together(recorded []result.Scenario) (*result.Policy, []result.Scenario) {
	out := slices.Clone(recorded)
	for _, g := range groupsOf(recorded, func(s *result.Scenario) bool { return !keeps(s) }) {
		if g.contradiction() != nil {
			continue
		}
		for _, s := range g.of {
			i := slices.IndexFunc(out, func(o result.Scenario) bool { return o.ID == s.ID })
			if by := g.resolvers(s); len(by) > 0 {
				out[i] = resolved(out[i], by)
			} else if Unresolved(s) && demanded(s).Short(g.limit, g.measured) == "" {
				out[i].Detail += "; together the scenarios of the run measured enough, but a fault of this " +
					"one shows only in its own recording"
			}
		}
	}
	for i := range out {
		if !Unresolved(&out[i]) {
			continue
		}
		why, _ := out[i].Coarse()
		if len(out[i].Limit) > 1 && near(&out[i]) {
			why = "another limit denies first here (run it together with sustained and several-limits)"
		}
		if why != "" {
			out[i].Detail += "; " + why
		}
	}
	return MeasuredPolicy(out), out
}

// Unresolved tells whether s lacks nothing for a pass except precision: more must be measured.
func Unresolved(s *result.Scenario) bool {
	return s.Verdict == result.Inconclusive && s.Judgement != nil && s.Judgement.Unresolved &&
		s.Reason == result.TooFew && len(s.ResolvedBy) == 0
}

// demanded is the resolution with which s had to measure its limit.
func demanded(s *result.Scenario) check.Resolution {
	t := &s.Header.Judged
	return check.Resolution{BurstExact: t.BurstExact, Burst: t.Burst, Rate: t.Rate}
}

// resolvers returns the ids of scenarios that measured what s lacks: a single one if it is enough, else all
// others. It is empty if s lacks nothing, did not come close, or all scenarios together measured too little.
func (g *group) resolvers(s *result.Scenario) []string {
	if !Unresolved(s) || !near(s) || demanded(s).Short(g.limit, g.measured) != "" {
		return nil
	}
	var all []string
	for _, o := range g.of {
		if o.ID == s.ID {
			continue
		}
		all = append(all, o.ID)
		if demanded(s).Short(g.limit, s.Judgement.Measured.Intersect(o.Judgement.Measured)) == "" {
			return []string{o.ID}
		}
	}
	return all
}

// nearly is how much coarser than demanded a recording may measure and still be resolved by others, as a
// share of the declared value. It is one unit if that is more.
const nearly = 0.1

// near tells whether the recording of s alone measured nearly enough. It must: a larger fault of this
// scenario would be visible in its own recording only. If the declared clock ticks, no recording can resolve
// what the limit gives back in one tick. One of several policies is enough: the tightest policy hides the
// others, and other scenarios measure those.
func near(s *result.Scenario) bool {
	r, n := demanded(s), len(s.Limit)
	for i, p := range s.Limit {
		wide := r
		if r.BurstExact || r.Burst > 0 {
			wide.BurstExact = false
			wide.Burst = (r.Burst + max(nearly, max(1, ticked(p))/float64(p.Full()))) * (1 + precision)
		}
		if r.Rate > 0 {
			wide.Rate += nearly
		}
		if wide.Short(spec.Limit{p}, s.Judgement.Measured.Of(i, n)) == "" {
			return true
		}
	}
	return false
}

// ticked is how many units p gives back in one tick of its declared clock; 0 without one.
func ticked(p spec.Policy) float64 {
	if !p.TickSet || !p.Refills() {
		return 0
	}
	return float64(p.Rate.N) * float64(p.Tick) / float64(p.Rate.Per)
}

// resolved makes the conformance claim of s a pass that rests on the recordings in by. The other claims keep
// their verdicts.
func resolved(s result.Scenario, by []string) result.Scenario {
	s.Claims = slices.Clone(s.Claims)
	i := slices.IndexFunc(s.Claims, func(c result.Claim) bool { return c.Kind == result.ClaimConformance })
	c := &s.Claims[i]
	c.Verdict, c.Reason = result.Pass, ""
	c.Text = strings.Join(s.Worth(), ", ") + "; resolved by " + strings.Join(by, ", ")
	s.ResolvedBy = by
	v, r, detail := result.Sum(s.Claims, "")
	if s.Verdict, s.Reason, s.Detail = v, r, detail; v == result.Pass && s.Counts.Unsent > 0 {
		s.Verdict, s.Reason = result.Inconclusive, result.ScheduleMissed
		s.Detail = result.Unsent(s.Counts)
	}
	return s
}

// Again joins a scenario with an earlier recording of it that used other clients. It intersects what both
// measured, as the limiter is the same. If either recording fails its limit, last is returned as it is. file
// is the path of the earlier recording.
func Again(earlier, last result.Scenario, file string) result.Scenario {
	if earlier.Judgement == nil || last.Judgement == nil || !keeps(&earlier) || !keeps(&last) {
		return last
	}
	j := *last.Judgement
	j.Measured = j.Measured.Intersect(earlier.Judgement.Measured)
	last.Judgement = &j
	if j.Unresolved && demanded(&last).Short(last.Limit, j.Measured) == "" {
		last = resolved(last, []string{file})
	}
	return last
}

// Narrower tells whether a scenario measured more after a second recording than before it.
func Narrower(before, after *result.Scenario) bool {
	if before.Judgement == nil || after.Judgement == nil {
		return true
	}
	n := len(before.Limit)
	for i := range n {
		a, b := before.Judgement.Measured.Of(i, n), after.Judgement.Measured.Of(i, n)
		if a.Burst != b.Burst || a.Rate != b.Rate {
			return true
		}
	}
	return false
}
