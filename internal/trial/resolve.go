package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Together is what the scenarios of a run are worth together: their measured policy, and the scenarios with
// those passed that measured too little alone. Such a scenario passes only if it came close by itself, and
// all that measured the same limiter, without one that fails, measured enough. It does not change recorded.
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
			}
		}
	}
	for i := range out {
		if why, _ := out[i].Coarse(); Unresolved(&out[i]) && why != "" {
			out[i].Detail += "; " + why
		}
	}
	return MeasuredPolicy(out), out
}

// Unresolved tells whether nothing is missing of a pass of s but that more must be measured.
func Unresolved(s *result.Scenario) bool {
	return s.Verdict == verdict.Inconclusive && s.Judgement != nil && s.Judgement.Unresolved &&
		s.Reason == verdict.TooFew && len(s.ResolvedBy) == 0
}

// demanded is how closely s had to measure its limit.
func demanded(s *result.Scenario) check.Resolution {
	t := &s.Header.Judged
	return check.Resolution{BurstExact: t.BurstExact, Burst: t.Burst, Rate: t.Rate}
}

// resolvers are the scenarios that measured what s lacks: one where one is enough, else all others. Empty
// where s lacks nothing, did not come close, or all of them are not enough.
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

// nearly is how much wider than demanded a recording may measure that others resolve, as a share of what is
// declared; one unit where that is more.
const nearly = 0.1

// near tells whether s measured nearly what it must by itself. A fault of its own that is larger it would
// have shown; what others measured says nothing of that. Where the declared clock ticks, what the limit gives
// back in a tick is open to each recording, however it is made. Of several policies one is enough: the one
// that denies keeps a recording from reaching the others, and scenarios that reach these measure them.
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

// ticked is how many units p gives back in a tick of the clock that it declares.
func ticked(p spec.Policy) float64 {
	if !p.TickSet || !p.Refills() {
		return 0
	}
	return float64(p.Rate.N) * float64(p.Tick) / float64(p.Rate.Per)
}

// resolved passes a scenario that others resolved; its other expectations stay as they are.
func resolved(s result.Scenario, by []string) result.Scenario {
	s.Claims = slices.Clone(s.Claims)
	i := slices.IndexFunc(s.Claims, func(c verdict.Claim) bool { return c.Kind == verdict.ClaimConformance })
	c := &s.Claims[i]
	c.Verdict, c.Reason = verdict.Pass, ""
	c.Text = strings.Join(s.Worth(), ", ") + "; resolved by " + strings.Join(by, ", ")
	s.ResolvedBy = by
	v, r, detail := sum(s.Claims, "")
	if s.Verdict, s.Reason, s.Detail = v, r, detail; v == verdict.Pass && s.Counts.Unsent > 0 {
		s.Verdict, s.Reason = verdict.Inconclusive, verdict.ScheduleMissed
		s.Detail = unsent(s.Counts)
	}
	return s
}

func unsent(c timeline.Counts) string {
	return fmt.Sprintf("%d of %d planned requests were not sent", c.Unsent, c.Planned)
}

// Again joins a scenario with an earlier recording of it, for other clients: what they measured together is
// of one limiter. A recording that fails fails the scenario, whatever the other one shows.
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

// Narrower tells whether a scenario measured more after another recording of it than before.
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
