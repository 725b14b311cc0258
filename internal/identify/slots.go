package identify

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/space"
)

// partly asks for two thirds of a window's quota, then for all of it late in the window, then once more a
// little after the window. Replicas that exchange their counts late admit twice the quota until then. A
// window in slots is not whole again.
//
//	a a   . . .   a d   .   a a a     a window of 3
//	a a   . . .   a d   .   a a d     one in slots, or a log
var partly = experiment{name: "partly", most: 4, phases: (*search).parts, rival: (*search).slotted,
	of:  func(r *space.Region) bool { return !r.Kind.Paced && r.Hull().Q2 > 1 },
	why: func(*identity.Candidate) string { return "a window in slots explains all answers too" }}

func (x *search) parts(made int) []step {
	h, whole, before := x.regions[0].Hull(), x.regions[0].Recovery(), len(x.tl.Observations)
	some := plan.Phase{Rest: x.recovers() + whole/10, Requests: int(h.Q2) * 2 / 3, Every: x.every}
	rest := plan.Phase{Requests: int(h.Q2) - some.Requests + 1, Every: x.every, Denials: 1}
	again := plan.Phase{Requests: some.Requests + 1, Every: x.every, Denials: 1}
	late, over := h.T1*3/4, h.T2*9/8 // since the first of some
	if x.regions[0].Kind.Seconds && whole >= 2*time.Second {
		late, over = late.Truncate(time.Second)+whole/20, h.T2 // at the same place in a second
		some.Rest += whole * time.Duration(made) / 10
	}
	rest.Rest, again.Rest = late, over-late
	since := func(d time.Duration) func() time.Duration {
		return func() time.Duration { return x.tl.Observations[before].Sent + d + x.trip() }
	}
	return []step{{Phase: some}, {rest, since(late)}, {again, since(over)}}
}

// slotted returns a window in slots, each of a second or some, that explains the recording as a limit by a
// clock of whole seconds does; nil where none does. Of a quota of one request they are the same.
func (x *search) slotted(c identity.Candidate) *identity.Candidate {
	p := c.Limit[0]
	if p.Tick != time.Second || p.Rate.N < 2 {
		return nil
	}
	for slots := p.Rate.Per / time.Second; slots > 1 && !x.overdue(); slots-- {
		other := inSlotsOf(p.Rate, int64(slots))
		if p.Rate.Per/time.Second%slots == 0 && x.asker.Explains(x.judged(), other.Limit) {
			return &other
		}
	}
	return nil
}
