package trial

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A phase was not offered at its rate that took more than half of its time longer, and stretchedBy more: what
// its PASS would say is of a lower rate.
const stretchedBy = 250 * time.Millisecond

// hasRate tells whether the requests of a phase are planned at a rate.
func hasRate(p scenario.Phase) bool {
	switch p.Shape {
	case timeline.Constant, timeline.Ramp, timeline.Steps, timeline.Poisson:
		return true
	default:
		return false
	}
}

// stretched says which phase was sent at less than its rate: its last request came long after the plan, as
// measured from its first. Empty where none was. Phases that send when they are answered have no rate.
func stretched(s *scenario.Scenario, tl *timeline.Timeline) string {
	if !slices.ContainsFunc(s.Phases, hasRate) {
		return "" // a long recording need not be read for it
	}
	type span struct{ at, sent, lastAt, lastSent time.Duration }
	spans := map[string]span{}
	for o := range tl.All() { // ascending by Sent
		x, begun := spans[o.Phase]
		if !begun {
			x = span{at: o.At, sent: o.Sent}
		}
		x.at, x.lastAt, x.lastSent = min(x.at, o.At), max(x.lastAt, o.At), max(x.lastSent, o.Sent)
		spans[o.Phase] = x
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		if !hasRate(*p) {
			continue
		}
		x := spans[p.Name]
		plan, took := x.lastAt-x.at, x.lastSent-x.sent
		if took > plan*3/2+stretchedBy {
			return fmt.Sprintf("phase %s was sent in %s in place of %s, so at %.0f %% of its rate", p.Name,
				quantity.Brief(took), quantity.Brief(plan), 100*float64(plan)/float64(took))
		}
	}
	return ""
}
