package trial

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A phase missed its rate if it took over 1.5 times its planned time and stretchedBy more. A PASS would then
// be about a lower rate than planned.
const stretchedBy = 250 * time.Millisecond

// hasRate tells whether the plan sends the requests of a phase at a rate.
func hasRate(p scenario.Phase) bool {
	return slices.Contains([]timeline.Shape{timeline.Constant, timeline.Ramp, timeline.Steps,
		timeline.Poisson}, p.Shape)
}

// stretched names the phase that was sent at less than its rate. Time is measured from the first to the last
// request of the phase. It returns an empty text if every phase kept its rate. Phases that send on an answer
// have no rate.
func stretched(s *scenario.Scenario, tl *timeline.Timeline) string {
	if !slices.ContainsFunc(s.Phases, hasRate) {
		return "" // spares reading a long recording
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
				text.Brief(took), text.Brief(plan), 100*float64(plan)/float64(took))
		}
	}
	return ""
}

// doubled names the burst in which a client was admitted more than its quota, as if a window whose start is
// not known had begun in it, or a batch had come. If the client asks for less than a window after that,
// nothing tells this from two quotas. It returns an empty text if there is no such burst.
//
//	sent      ||||||||      | | | |
//	admitted  AAAADDDD                 of one quota
//	admitted  AAAAAAAA                 of one quota, a window began here: or of two quotas
func doubled(s *scenario.Scenario, tl *timeline.Timeline) string {
	hides := func(p spec.Policy) bool {
		return p.Align == spec.AlignUnknown || p.Align == spec.AlignShared || p.Refill == spec.RefillInterval
	}
	if !slices.ContainsFunc(s.Limit, hides) {
		return "" // spares reading a long recording
	}
	type burst struct {
		phase, partition string
		units            int64
		since            time.Duration
	}
	var bursts []burst // of one phase and partition each, ascending by since
	phases, last := phasesOf(s), map[string]time.Duration{}
	for o := range tl.All() { // ascending by Sent
		last[o.Partition] = o.Sent
		p := phases[o.Phase]
		if p == nil || p.Shape != timeline.AtOnce || !p.Counted() || o.Outcome != timeline.Allowed {
			continue
		}
		at := slices.IndexFunc(bursts, func(b burst) bool {
			return b.phase == o.Phase && b.partition == o.Partition
		})
		if at < 0 {
			at, bursts = len(bursts), append(bursts, burst{o.Phase, o.Partition, 0, o.Sent})
		}
		bursts[at].units += o.Cost
	}
	for _, b := range bursts {
		for _, p := range phases[b.phase].Limit {
			if hides(p) && b.units > p.Full() && last[b.partition] < b.since+p.Turn() {
				return fmt.Sprintf("phase %s: %d units of a quota of %d were admitted at once; a window may "+
					"have begun meanwhile, and two quotas look the same", b.phase, b.units, p.Full())
			}
		}
	}
	return ""
}

// sides describes the two groups of a boundary phase. before is when the earlier group is due, after when the
// later group is due. late counts requests of the earlier group sent after the boundary, inTime its answers
// before the boundary. quickest is the shortest time from due to answer, far the shortest from sent to
// answer. Both are 0 without an answer. behind has the delay of each request sent, in any order.
type sides struct {
	before, after time.Duration
	late, inTime  int
	quickest, far time.Duration
	behind        []time.Duration
}

// lead is the gap between each group and the boundary, which lies halfway between the groups. It is 0 if a
// group is missing.
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
	due, sent := o.FirstByte-o.At, o.FirstByte-o.Sent
	if x.quickest == 0 {
		x.quickest, x.far = due, sent
	}
	x.quickest, x.far = min(x.quickest, due), min(x.far, sent)
	if o.FirstByte < boundary {
		x.inTime++
	}
}

// sentLate tells whether over a quarter of the earlier group was sent after the boundary. unsure tells
// whether the whole group may have been decided after it: no answer came before the boundary.
func (x *sides) sentLate() bool { return 4*x.late > len(x.behind) }
func (x *sides) unsure() bool   { return x.inTime == 0 && len(x.behind) > 0 }

// needed is the lead that would have been long enough to send three quarters of the group, and get one
// answer, before the boundary.
func (x *sides) needed() time.Duration {
	slices.Sort(x.behind)
	return max(x.behind[(len(x.behind)-1)*3/4], x.quickest)
}

// sidesOf returns the sides of the boundary phases of s by phase name. The value is nil for a phase that sent
// nothing, the map is nil without a boundary phase.
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

// strayed names the boundary phase whose recording says nothing about its boundary, with the reason. Either
// over a quarter of the requests due before the boundary were sent after it, or all of them may have been
// decided after it. One answer in time is enough, as a target may answer slowly. It returns empty texts if no
// phase strayed.
//
//	due      ||||    |    ||||
//	sent             | ||||||||    it stood still
//	answered         | ||||  ||||  it is far away
//	              boundary
func strayed(s *scenario.Scenario, tl *timeline.Timeline) (why string, r result.Reason) {
	edges := sidesOf(s, tl)
	for i := range s.Phases {
		name := s.Phases[i].Name
		x := edges[name]
		switch {
		case x == nil:
		case x.sentLate():
			return fmt.Sprintf("phase %s: %d of %d requests that were due before the boundary were sent "+
				"after it", name, x.late, len(x.behind)), result.ScheduleMissed
		case x.unsure():
			return fmt.Sprintf("phase %s: all %d requests that were sent before the boundary were answered "+
				"after it, and may be decided after it", name, len(x.behind)), result.TooFew
		}
	}
	return "", ""
}

const (
	// wider caps how much Mended widens a lead: to wider times the planned lead beside the way to the target
	// and back, and to 1/wider of the window. Faults at the edge of a window are visible only near the edge.
	wider = 4
	// longer caps how much Mended lengthens a window.
	longer = 10
)

// Mended returns s as it should be recorded again after the recording tl, and a text that says what changed.
// s itself does not change. The text is empty if nothing changes or tl is nil. A boundary phase that strayed
// gets twice the lead that it needed; the others keep the lead that they had.
//
//	last         |||||   .  |           sent at .
//	             |-- lead --|
//	next  |||||             |
//	      |---- 2 x late ---|
//
// A limiter without windows may answer the first request so late that no time is left to prepare the later
// groups. Its phase then gets a longer window, a multiple of the planned one, with time for that.
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
				text.Brief(p.Lead), text.Brief(old.Lead), p.Name))
		}
		if p.Window != old.Window {
			all = append(all, fmt.Sprintf("%s instead of %s from the first request to the boundary of "+
				"phase %s", text.Brief(p.Window), text.Brief(old.Window), p.Name))
		}
	}
	if len(all) == 0 {
		return s, ""
	}
	return &out, strings.Join(all, ", ")
}

// mended is the lead of p for the next recording.
func (x *sides) mended(p *scenario.Phase) time.Duration {
	wide := x.lead()
	if x.sentLate() || x.unsure() {
		wide = max(wide, 2*x.needed())
	}
	return max(p.Lead, min(wide, x.widest(p)))
}

// widest is the longest lead that Mended gives p.
func (x *sides) widest(p *scenario.Phase) time.Duration {
	return min(wider*p.Lead+x.far, p.Window/wider)
}

// windowsFor returns by which factor the window of p must grow so that the first answers arrive in time. It
// measures how long these answers took in tl. The factor is 1 if the limit itself defines its windows.
func windowsFor(p *scenario.Phase, tl *timeline.Timeline) time.Duration {
	if p.Aim != timeline.AimFirst || p.Window == 0 || slices.ContainsFunc(p.Limit, spec.Policy.HasWindow) {
		return 1
	}
	var took time.Duration
	for o := range tl.All() {
		if o.Phase == timeline.AimPhase(p.Name) && o.Answered {
			took = max(took, o.FirstByte-o.At)
		}
	}
	if took == 0 {
		return 1 // no request was answered
	}
	return min(longer, 1+(2*took+p.Window-1)/p.Window)
}
