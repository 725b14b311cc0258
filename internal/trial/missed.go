package trial

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// A phase was not offered at its rate that took more than half of its time longer, and stretchedBy more:
// what its PASS would say is of a lower rate.
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
			return fmt.Sprintf("phase %s was sent in %s instead of %s, so at %.0f %% of its rate", p.Name,
				quantity.Brief(took), quantity.Brief(plan), 100*float64(plan)/float64(took))
		}
	}
	return ""
}

// sides are the earlier group of a boundary phase, which is due before, and when the later one is. inTime
// counts the answers before the boundary, quickest is how long after its due time the first answer came, 0
// for none, and behind are how late the requests were sent, in any order.
type sides struct {
	before, after time.Duration
	late, inTime  int
	quickest      time.Duration
	behind        []time.Duration
}

// lead is the gap on each side of the boundary, which lies in the middle of the groups; 0 where one is
// missing.
func (x *sides) lead() time.Duration { return (x.after - x.before) / 2 }

// add counts a request of the earlier group.
func (x *sides) add(o *timeline.Observation) {
	boundary := x.before + x.lead()
	x.behind = append(x.behind, o.Sent-o.At)
	if o.Sent >= boundary {
		x.late++
	}
	if !o.Answered {
		return
	}
	if took := o.FirstByte - o.At; x.quickest == 0 || took < x.quickest {
		x.quickest = took
	}
	if o.FirstByte < boundary {
		x.inTime++
	}
}

// sentLate tells whether over a quarter was sent after the boundary, and unsure whether all may have been
// decided after it.
func (x *sides) sentLate() bool { return 4*x.late > len(x.behind) }
func (x *sides) unsure() bool   { return x.inTime == 0 && len(x.behind) > 0 }

// needed is the lead with which three quarters would have been sent before the boundary, and one answered.
func (x *sides) needed() time.Duration {
	slices.Sort(x.behind)
	return max(x.behind[(len(x.behind)-1)*3/4], x.quickest)
}

// sidesOf returns the sides of the boundary phases of s of which something was sent, by their names.
func sidesOf(s *scenario.Scenario, tl *timeline.Timeline) map[string]*sides {
	edges := map[string]*sides{}
	for i := range s.Phases {
		if p := &s.Phases[i]; p.Shape == timeline.Boundary {
			edges[p.Name] = nil
		}
	}
	if len(edges) == 0 {
		return nil
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
	return edges
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
	edges := sidesOf(s, tl)
	for i := range s.Phases {
		name := s.Phases[i].Name
		x := edges[name]
		switch {
		case x == nil:
		case x.sentLate():
			return fmt.Sprintf("phase %s: %d of %d requests that were due before the boundary were sent "+
				"after it", name, x.late, len(x.behind)), verdict.ScheduleMissed
		case x.unsure():
			return fmt.Sprintf("phase %s: all %d requests that were sent before the boundary were answered "+
				"after it, and may be decided after it", name, len(x.behind)), verdict.TooFew
		}
	}
	return "", ""
}

const (
	// wider is how many times wider Mended makes a lead at most, and how many such leads a window has at
	// least. What goes wrong just before the end of a window, and just after, is seen only near it.
	wider = 4
	// longer is how many times longer Mended makes a window at most.
	longer = 10
)

// Mended returns s as it is to be recorded again after tl, which may be nil, and what is changed, empty for
// nothing; s itself is not. A boundary phase that strayed gets twice the lead that it needed, and one that
// did not keeps the lead that it had.
//
//	last         |||||   .  |           sent at .
//	             |-- lead --|
//	next  |||||             |
//	      |---- 2 x late ---|
//
// Where the first request of a limiter without windows was answered so late that no time was left to arm the
// gate, the window has room for that: it is so many of them.
func Mended(s *scenario.Scenario, tl *timeline.Timeline) (again *scenario.Scenario, what string) {
	if tl == nil {
		return s, ""
	}
	out := *s
	out.Phases = slices.Clone(s.Phases)
	var all []string
	edges := sidesOf(s, tl)
	for i := range out.Phases {
		p, old := &out.Phases[i], &s.Phases[i]
		if x, asked := edges[p.Name]; x != nil {
			p.Lead = x.mended(p)
		} else if asked {
			p.Window *= windowsFor(p, tl)
		}
		if p.Lead != old.Lead {
			all = append(all, fmt.Sprintf("%s instead of %s on each side of the boundary of phase %s",
				quantity.Brief(p.Lead), quantity.Brief(old.Lead), p.Name))
		}
		if p.Window != old.Window {
			all = append(all, fmt.Sprintf("%s instead of %s from the first request to the boundary of "+
				"phase %s", quantity.Brief(p.Window), quantity.Brief(old.Window), p.Name))
		}
	}
	if len(all) == 0 {
		return s, ""
	}
	return &out, strings.Join(all, ", ")
}

// mended is the lead of p for another recording.
func (x *sides) mended(p *scenario.Phase) time.Duration {
	wide := x.lead()
	if x.sentLate() || x.unsure() {
		wide = max(wide, 2*x.needed())
	}
	return max(p.Lead, min(wide, widest(p)))
}

// widest is the widest lead of p.
func widest(p *scenario.Phase) time.Duration { return min(wider*p.Lead, p.Window/wider) }

// windowsFor returns how many windows of p it takes until its first requests are answered and its gate is
// armed, by how long the answers took in tl. It is 1 where the limit says when its windows end.
func windowsFor(p *scenario.Phase, tl *timeline.Timeline) time.Duration {
	windowed := func(l spec.Policy) bool { return l.HasWindow() }
	if p.Aim != timeline.AimFirst || p.Window == 0 || slices.ContainsFunc(p.Limit, windowed) {
		return 1
	}
	var took time.Duration
	for o := range tl.All() {
		if o.Phase == timeline.AimPhase(p.Name) && o.Answered {
			took = max(took, o.FirstByte-o.At)
		}
	}
	if took == 0 {
		return 1 // it was not even asked
	}
	return min(longer, 1+(2*took+p.Window-1)/p.Window)
}
