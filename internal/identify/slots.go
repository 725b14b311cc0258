package identify

import (
	"context"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
)

// partly asks for two thirds of a window's quota, then for all of it late in the window, then once more a
// little after the window. Replicas that exchange their counts late admit twice the quota until then. A
// window in slots is not whole again.
//
//	a a   . . .   a d   .   a a a     a window of 3
//	a a   . . .   a d   .   a a d     one in slots, or a log
//
// It reports false where nothing is to be asked before until.
func (x *search) partly(ctx context.Context, until time.Duration) bool {
	const name, tries = "partly", 4
	if len(x.regions) == 0 || x.regions[0].Kind.Paced || x.regions[0].Hull().Q2 < 2 {
		return false
	}
	made, bySecond := x.made[name], x.regions[0].Kind.Seconds
	if made > 0 && (made >= tries || !bySecond || x.slotted(x.candidate(x.regions[0])) == nil) {
		return false
	}
	h, whole, every := x.regions[0].Hull(), x.regions[0].Recovery(), x.every
	some := plan.Phase{Name: name, Rest: x.recovers() + whole/10, Requests: int(h.Q2) * 2 / 3, Every: every}
	rest := plan.Phase{Name: name, Requests: int(h.Q2) - some.Requests + 1, Every: every, Denials: 1}
	again := plan.Phase{Name: name, Requests: some.Requests + 1, Every: every, Denials: 1}
	late, over := h.T1*3/4, h.T2*9/8        // since the first of some
	if bySecond && whole >= 2*time.Second { // which keeps its place in a second, if it is not at the end
		late, over = late.Truncate(time.Second)+whole/20, h.T2
		some.Rest += whole * time.Duration(made) / 10
	}
	if x.s.Now()+some.Rest+over >= until {
		return false
	}
	x.made[name]++
	before := len(x.tl.Observations)
	if !x.send(ctx, some) {
		return false
	}
	first := x.tl.Observations[before].Sent
	rest.Rest = max(every, first+late+x.trip()-x.s.Now())
	if !x.send(ctx, rest) {
		return false
	}
	again.Rest = max(every, first+over+x.trip()-x.s.Now())
	return x.send(ctx, again)
}

// inSlots is why no window by a clock of whole seconds is named.
const inSlots = "a window in slots explains all answers too"

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
