package identify

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// gently tells a window that requests start anew from a ban that requests prolong. It asks for more than the
// quota, so slowly that a log would admit all. If every request starts the window anew, it asks for half the
// quota, and for more shortly before the window ends. Then it asks twice for all, each time shortly after the
// end. If a ban was found, it asks for the quota at a third of the rate.
var gently = experiment{name: "gently", most: 1, phases: (*search).gentlePhases,
	of: func(r *space.Region) bool {
		return (r.Kind.Base.Refresh != "" || r.Kind.Bans) && r.Hull().Q2 > 1
	}}

func (x *search) gentlePhases(int) []step {
	r := x.regions[0]
	h := r.Hull()
	if r.Kind.Bans { // a bucket that refills as fast as requests came looks like any quota
		return inTurn(plan.Phase{Rest: 2 * r.Recovery(), Requests: 5*int(h.Q2) + 3, Every: 3 * x.every,
			Denials: 1})
	}
	slow := plan.Phase{Rest: 2 * h.T2, Requests: int(h.Q2) + 2,
		Every: max(x.every, h.T2*13/10/time.Duration(h.Q2))}
	if r.Kind.Base.Refresh != spec.RefreshAll {
		return inTurn(slow)
	}
	all := plan.Phase{Requests: int(h.Q2) + 1, Every: x.every, Denials: 1}
	half, early, late := all, all, all
	half.Rest, half.Requests = 2*h.T2, int(h.Q2+1)/2
	early.Rest, late.Rest = h.T1*9/10, h.T2*104/100
	return inTurn(slow, half, early, late, late)
}

// unbanned asks for the quota and no more, then once a little before a unit comes back, then once a little
// after. The first of these is denied. If that begins a ban, the second is denied too, however long the ban
// is.
//
//	a a a                 d a     the limit alone
//	a a a                 d d     with a ban
var unbanned = experiment{name: "unbanned", most: 10, phases: (*search).denials, rival: (*search).banned,
	of: func(r *space.Region) bool { return !r.Kind.Bans && !r.Kind.Queue },
	why: func(ban *identity.Candidate) string {
		return fmt.Sprintf("a ban of %s..%s after each denial explains all answers too",
			quantity.Brief(ban.BanLeast), quantity.Brief(ban.BanMost))
	}}

// denials are the phases of unbanned, more cautious each time. There are none where a unit comes back too
// soon to be denied before.
//
// If a denial puts the return off, a second denial follows soon, which counts for nothing during a ban. The
// third request comes when the first denial alone would be over. The limit denies it, a ban that has ended
// does not. The last request comes when the return is due.
func (x *search) denials(made int) []step {
	const places = 4
	if phases := x.edge(); made < 2 && len(phases) > 0 {
		return inTurn(phases...)
	}
	all, whole, recovers := x.course(), x.regions[0].Recovery(), x.recovers()
	slack := x.slack() * time.Duration(made/2+1)
	var rests []time.Duration
	if made == 0 && x.regions[0].Kind.Paced { // this tells, too, whether an idle client is forgotten
		rests = x.idleRests()
	}
	for i := range time.Duration(places) { // phases of a window by the clock
		rests = append(rests, recovers+whole*(3*i+time.Duration(made)+1)/10)
	}
	for i, rest := range rests {
		c, once := all.Clone(), plan.Phase{Requests: 1, Every: max(x.trip(), 1)}
		use := plan.Phase{Rest: rest, Every: x.every, Denials: 1}
		use.Requests = c.Admits(use)
		from, to := c.After(use)
		if from < x.every+slack || from < whole/3 && i+1 < len(rests) && !x.regions[0].Kind.Paced {
			continue
		}
		first, slack := once, slack+to/50
		first.Rest = max(x.every, from-slack)
		again, over := c.After(first)
		last := once
		if over <= to/2 || made%2 > 0 {
			if last.Rest = max(x.every, over+slack); made > 0 && !x.regions[0].Kind.Counts() {
				last.Admits, last.Requests = 1, plan.Rungs // a denial narrows its time further
				last.Every = max(x.every, (last.Rest-again)/(plan.Rungs-1))
				last.Rest = max(x.every, again)
			}
			return inTurn(use, first, last)
		}
		second, third := once, once
		second.Rest = max(x.every, over-again+2*slack)
		soonest, _ := c.After(second)
		third.Rest = max(x.every, (over-second.Rest-x.trip()+soonest)/2)
		_, latest := c.After(third)
		last.Rest = max(x.every, latest+slack)
		return inTurn(use, first, second, third, last)
	}
	return nil
}

// edge asks for the quota so late in a window by the clock that it is denied shortly before the window ends,
// and then until a request is admitted. A ban that is looked for would last longer. There are no phases where
// the end of a window is not known well enough.
//
//	|             a a a d d | a      | where windows end
func (x *search) edge() []plan.Phase {
	const places, rungs = 40, 12
	r := x.regions[0]
	if !x.fewFit(r.Hull().T2) || !r.Kind.Base.Fixed() || r.Kind.Base.Align != spec.AlignUnknown {
		return nil
	}
	h, bearable := r.Hull(), x.bearable()
	step := (bearable - x.every - 2*x.slack()) / rungs
	if step < x.every {
		return nil
	}
	use := plan.Phase{Requests: int(h.Q2) + 1, Every: x.every, Denials: 1}
	for i, all := 0, x.course(); i < 2*places; i++ {
		use.Rest = max(x.every, h.T2*time.Duration(i)/places)
		_, denied := all.Clone().After(plan.Phase{Rest: use.Rest}) // nothing is sent
		from, to := all.Clone().After(use)
		if denied > 0 || from < bearable/4 || to > bearable*3/4 {
			continue
		}
		return []plan.Phase{use, {Rest: x.every, Requests: rungs, Every: step, Admits: 1}}
	}
	return nil
}

// recovers is the silence after which the quota of the first kind that is left is whole, even if it bans.
func (x *search) recovers() time.Duration {
	whole := x.regions[0].Recovery()
	if x.regions[0].Kind.Base.Weighs() { // it remembers the window before
		return 2 * whole
	}
	return max(whole, min(longestBan(x.shown()), 2*whole))
}

// bearable is the longest ban that is not looked for: a tenth of the time of the found limit, and some gaps
// between requests.
func (x *search) bearable() time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, r := range slices.Concat(x.regions, space.Besides(x.regions)) {
		least = min(least, r.Hull().T2)
	}
	return least/10 + 2*x.every + 4*x.slack()
}

// longestBan is the longest ban that a recording leaves room for. A ban begins with the first request after
// an admission that was denied or not answered. It ends before the next admission.
func longestBan(tl *timeline.Timeline) time.Duration {
	type ban struct{ from, seen time.Duration }
	out, on := tl.End(), map[string]*ban{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		b := on[o.Partition]
		switch {
		case o.Outcome != timeline.Allowed && b == nil:
			on[o.Partition] = &ban{o.Sent, max(o.Sent, o.FirstByte)}
		case o.Outcome == timeline.Allowed && b != nil && o.Sent >= b.seen:
			out = min(out, o.FirstByte-b.from)
			delete(on, o.Partition)
		}
	}
	return out
}

// banned returns c with a ban that explains the recording too. It is nil where none is found, or any would be
// too short to tell.
func (x *search) banned(c identity.Candidate) *identity.Candidate {
	const steps = 8
	least, most := x.bearable(), longestBan(x.shown())
	if x.withoutQueue != nil || c.BanMost > 0 || most <= least {
		return nil
	}
	c.Text += " that bans whom it denied"
	c.BanLeast, c.BanMost = least, most
	longer := math.Pow(float64(most)/float64(least), 1.0/steps)
	for i := 0; i <= steps && !x.overdue(); i++ {
		c.Limit = slices.Clone(c.Limit)
		c.Limit[0].Ban = time.Duration(float64(least) * math.Pow(longer, float64(i)))
		if !x.asker.Refuted(x.shown(), c.Limit, verdict.Exact, true) {
			return &c
		}
	}
	return nil
}
