package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
)

// told returns the claims of a scenario that say more than that they hold: what each way to retry costs.
func told(s *result.Scenario) []result.Claim {
	var out []result.Claim
	for _, c := range s.Claims {
		if c.Kind == result.ClaimStorm && c.Verdict == result.Pass {
			out = append(out, c)
		}
	}
	return out
}

// told writes what a scenario says beside its verdict.
func (s *screen) told(x *result.Scenario) {
	s.attributes(x)
	for i, c := range told(x) {
		if i == 0 {
			s.line("")
			s.line("%s", s.bold(x.ID))
		}
		s.wrapped(2, c.Kind.Of(c.ID)+": "+c.Text)
	}
}

// comparedBy returns the attributes that a scenario compared, in their order; nil for most scenarios.
func comparedBy(s *result.Scenario) []result.Comparison {
	for i := range s.Claims {
		if rows := s.Claims[i].Compared; len(rows) > 0 {
			return rows
		}
	}
	return nil
}

// comparedHead is the head of the table of attributes.
var comparedHead = []string{"ATTRIBUTE", "SENT", "SENT OTHERWISE", "EXPECTED", "OBSERVED"}

// attributes writes the table of attributes, and below it the attributes of which nothing is shown, by the
// reason.
func (s *screen) attributes(x *result.Scenario) {
	all := comparedBy(x)
	if len(all) == 0 {
		return
	}
	var rows [][]string
	for _, c := range all {
		observed := c.Observed
		if c.Failed() {
			observed = s.escape("1;31", observed)
		}
		rows = append(rows, []string{c.Attribute, c.Plain, c.Other, c.Expected, observed})
	}
	s.line("")
	s.table(comparedHead, "lllll", rows)
	for i, line := range notShown(all) {
		if i == 0 {
			s.line("")
		}
		s.wrapped(0, line)
	}
}

// notShown lists the attributes of which nothing is shown, one line for each reason.
func notShown(all []result.Comparison) []string {
	var reasons []string
	names := map[string][]string{}
	for _, c := range all {
		if c.Verdict != result.Inconclusive {
			continue
		}
		if !slices.Contains(reasons, c.Detail) {
			reasons = append(reasons, c.Detail)
		}
		names[c.Detail] = append(names[c.Detail], c.Attribute)
	}
	for i, why := range reasons {
		reasons[i] = fmt.Sprintf("not shown: %s (%s)", strings.Join(names[why], ", "), why)
	}
	return reasons
}
