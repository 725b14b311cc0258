package report

import (
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/report/columns"
	"github.com/rlcheck/rlcheck/internal/report/evidence"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// leastWhy is how many columns the last cell of a row has at least: below that the counts are left out.
const leastWhy = 16

// rows writes one line a scenario, what needs action first: its verdict, its requests, and what it measured
// or why it did not pass.
func (s *screen) rows(r *result.Run, o Options) error {
	head := []string{"VERDICT", "SCENARIO", "MEASURED, OR WHY", "ALLOWED", "DENIED"}
	align := "lllrr"
	var rows [][]string
	for _, x := range byNeed(r, o.Strict) {
		rows = append(rows, []string{s.paint(x.Verdict, x.Weighs(o.Strict)), columns.Clip(x.ID, s.width*3/8),
			"", quantity.Thousands(x.Counts.Allowed), quantity.Thousands(x.Counts.Denied)})
	}
	room := func() int { return s.width - columns.Width(head, rows) + len(head[2]) }
	for len(head) > 3 && room() < leastWhy {
		last := len(head) - 1
		head, align, rows = head[:last], align[:last], firstColumns(rows, last)
	}
	widest := room()
	for i, x := range byNeed(r, o.Strict) {
		rows[i][2] = columns.Clip(why(x, o.Strict), widest)
	}
	return s.table(head, align, rows)
}

// urgency orders scenarios: failures that count, other failures, what stayed open, what passed.
func urgency(s *result.Scenario, strict bool) int {
	switch {
	case s.Verdict == verdict.Fail && s.Weighs(strict):
		return 0
	case s.Verdict == verdict.Fail:
		return 1
	case s.Verdict == verdict.Inconclusive:
		return 2
	default:
		return 3
	}
}

// byNeed are the scenarios of r by their urgency; those of the same one in the order of the run.
func byNeed(r *result.Run, strict bool) []*result.Scenario {
	out := make([]*result.Scenario, len(r.Scenarios))
	for i := range r.Scenarios {
		out[i] = &r.Scenarios[i]
	}
	slices.SortStableFunc(out, func(a, b *result.Scenario) int {
		return urgency(a, strict) - urgency(b, strict)
	})
	return out
}

// why is what a scenario measured, in a few words, and before that why it did not pass.
func why(s *result.Scenario, strict bool) string {
	var parts []string
	if s.Verdict == verdict.Fail && !s.Weighs(strict) {
		parts = append(parts, s.Kind)
	}
	if s.Verdict == verdict.Inconclusive && s.Reason != "" {
		parts = append(parts, string(s.Reason))
	}
	for _, c := range s.Claims {
		if c.Verdict == verdict.Fail && s.Verdict == verdict.Fail && c.ID != evidence.Conformance {
			parts = append(parts, c.ID)
		}
	}
	if m := inShort(s); m != "" {
		parts = append(parts, m)
	}
	if n := s.Counts.Unknown; n > 0 {
		parts = append(parts, quantity.Thousands(n)+" unknown")
	}
	return strings.Join(parts, "; ")
}

// inShort is what a scenario measured of its limit: 20..20, 9.97..10.04/s; of several policies, + between
// them. Empty where it measured nothing.
func inShort(s *result.Scenario) string {
	if s.Judgement == nil {
		return ""
	}
	var out []string
	known := false
	for i, p := range s.Limit {
		m := s.Judgement.Measured.Of(i, len(s.Limit))
		burst := shortly(result.SeenBurst(p, m.Burst), "", quantity.Whole)
		rate := shortly(m.Rate, "/s", quantity.PerSecond)
		known = known || burst != unmeasured || rate != unmeasured
		switch {
		case p.InFlight(), rate == unmeasured, result.Refuted(m.Burst, p):
			out = append(out, burst)
		default:
			out = append(out, burst+", "+rate)
		}
	}
	if !known {
		return ""
	}
	return strings.Join(out, " + ")
}

// unmeasured stands where nothing is known of a parameter.
const unmeasured = "-"

// shortly prints an interval in few columns: 20..20, >=18, <=22, none fits.
func shortly(v verdict.Interval, unit string, text func(x float64, up bool) string) string {
	switch v = result.FiniteEnds(v); {
	case v.Empty():
		return "none fits"
	case v.LoSet && v.HiSet:
		return text(v.Lo, false) + ".." + text(v.Hi, true) + unit
	case v.LoSet:
		return ">=" + text(v.Lo, false) + unit
	case v.HiSet:
		return "<=" + text(v.Hi, true) + unit
	default:
		return unmeasured
	}
}
