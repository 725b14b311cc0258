package trial

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
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

// sides are when the two groups of a boundary phase are due, and how many of the earlier one there are, were
// sent after the boundary, and were answered before it.
type sides struct {
	before, after   time.Duration
	n, late, inTime int
}

// strayed says which boundary phase shows nothing of its boundary, with the reason: over a quarter of the
// requests that were due before it were sent after it, or all may have been decided after it. A target may
// take its time with what it admits, so one answer in time is enough. Empty where none did.
//
//	due      ||||    |    ||||
//	sent             | ||||||||    it stood still
//	answered         | ||||  ||||  it is far away
//	              boundary
func strayed(s *scenario.Scenario, tl *timeline.Timeline) (why string, r verdict.Reason) {
	edges := map[string]*sides{}
	for i := range s.Phases {
		if p := &s.Phases[i]; p.Shape == timeline.Boundary {
			edges[p.Name] = nil
		}
	}
	if len(edges) == 0 {
		return "", ""
	}
	for o := range tl.All() {
		x, asked := edges[o.Phase]
		switch {
		case !asked:
			continue
		case x == nil:
			x = &sides{before: o.At, after: o.At}
			edges[o.Phase] = x
		}
		x.before, x.after = min(x.before, o.At), max(x.after, o.At)
	}
	for o := range tl.All() {
		if x := edges[o.Phase]; x != nil && o.At == x.before && x.before < x.after {
			x.add(o)
		}
	}
	for i := range s.Phases {
		name := s.Phases[i].Name
		x := edges[name]
		switch {
		case x == nil:
		case 4*x.late > x.n:
			return fmt.Sprintf("phase %s: %d of %d requests that were due before the boundary were sent "+
				"after it", name, x.late, x.n), verdict.ScheduleMissed
		case x.inTime == 0 && x.n > 0:
			return fmt.Sprintf("phase %s: all %d requests that were sent before the boundary were answered "+
				"after it, and may be decided after it", name, x.n), verdict.TooFew
		}
	}
	return "", ""
}

// add counts a request that was due before the boundary, which lies in the middle of the groups.
func (x *sides) add(o *timeline.Observation) {
	boundary := x.before + (x.after-x.before)/2
	x.n++
	if o.Sent >= boundary {
		x.late++
	}
	if o.Answered && o.FirstByte < boundary {
		x.inTime++
	}
}
