package identify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/identify/trip"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// confirm makes experiments that could refute the only class that is left or, if none is left, looks for rare
// kinds. It reports false where nothing is to be asked.
func (x *search) confirm(ctx context.Context) bool {
	switch {
	case x.withoutQueue != nil && !x.queueExplains():
		x.unlike = x.regions
		x.noQueue()
		return true
	case len(x.regions) == 0:
		return x.path == nil && x.widen(ctx) || x.unshelve()
	}
	const early, tries = 3, 5 // the first ones have the budget for it
	doubts := x.doubts()
	if x.path != nil { // as many as fit the budget, to belie a path that is not steady
		doubts = len(usualRests)
	}
	return x.gently(ctx) || x.onTheBeat(ctx) || x.partly(ctx, x.o.MaxTime/2) || x.unbanned(ctx, early) ||
		x.usualExperiment(ctx, 1) || x.idle(ctx) || x.usualExperiment(ctx, doubts) ||
		x.unbanned(ctx, tries) || x.partly(ctx, x.sendUntil()) || x.overrun(ctx)
}

// lastly asks what alone keeps the only class that is left from its name, with the requests that are kept for
// what tells clients apart: for a ban, for a time to live, and for a window in slots.
func (x *search) lastly(ctx context.Context) {
	const tries = 5
	stopped := x.stopped
	if stopped != "" && stopped != requestsUsed {
		return
	}
	x.dear = true
	for !x.asker.Over() && len(x.regions) > 0 && x.settled(x.regions) && !x.unlikely() &&
		(x.unbanned(ctx, tries) || x.idle(ctx) || x.partly(ctx, x.sendUntil())) {
		x.exclude()
	}
	x.dear, x.stopped = false, cmp.Or(x.stopped, stopped)
}

// usualRests are the silences before the usual experiments, in percent of the time in which the found limit
// recovers. The first two come at other phases of its window, the third amid it. Then a bucket is not quite
// full, or a window is just over.
//
// The rest is for windows that nobody would write. Experiments that were made for another kind may have found
// the only window that explains them.
var usualRests = []time.Duration{210, 137, 60, 90, 104, 92, 104, 90, 43, edge, 55, 163, 35, edge, 48, 66}

// edge is a silence that ends just after the window that the last phase began. A clock that ticks may still
// deny some requests then.
const edge = 101

// ofAny is how many usual experiments suit any window.
const ofAny = 8

// confirming is how many usual experiments must be explained where others may have used the quota before.
const confirming = 3

// doubts is how many usual experiments must be explained: some where others may have used the quota before,
// more where a window of some seconds was found. A clock of whole seconds, which is not looked for, turns a
// window of 2 s into windows of 1 to 2 s. Then the measured window lies somewhere between.
func (x *search) doubts() int {
	const from, to = 500 * time.Millisecond, 30 * time.Second
	for _, r := range x.regions {
		if r.Beats != nil {
			return confirming
		}
		if h := r.Hull(); !r.Kind.Paced && h.T2 > from && h.T1 < to {
			if !h.Round() {
				return len(usualRests)
			}
			return ofAny
		}
	}
	if x.o.Fresh { // nothing else shows what a long silence does
		return 1
	}
	return confirming
}

// inStep tells whether units of the bucket that is left come back about as fast as requests were sent. Then
// small delays of requests explain any answers. Only requests sent from nearby tell.
func (x *search) inStep() bool {
	if len(x.regions) == 0 || !x.regions[0].Kind.Paced || x.recorded() || x.far || x.path != nil {
		return false
	}
	h, slack := x.regions[0].Hull(), 2*x.slack()
	return h.T1 < x.every+slack && h.T2 > x.every-slack
}

// whyUnconfirmed says why the only class that is left is not named.
func (x *search) whyUnconfirmed() string {
	switch {
	case x.o.Fresh:
		return unsure
	case x.inStep():
		return fmt.Sprintf(inStep, quantity.Brief(x.every))
	}
	return untested
}

// regained is how many whole quotas were admitted since the first admission after a denial. Earlier use of
// the key cannot have changed these. A quota counts as ten requests at least.
func (x *search) regained() int {
	const least = 10 // with a quota of one, each admission would be a whole quota
	quota, admitted, denied := int64(least), int64(-1), false
	for _, r := range x.likely() {
		quota = max(quota, r.Hull().Q2)
	}
	all := x.shown().Observations
	for i := range all {
		switch {
		case all[i].Outcome == timeline.Denied:
			denied = true
		case all[i].Outcome == timeline.Allowed && denied:
			admitted++
		}
	}
	return int(max(0, admitted) / quota)
}

// unconfirmed tells whether too few usual experiments were made.
func (x *search) unconfirmed() bool {
	if !x.o.Fresh {
		// Earlier use may be why the truth is gone.
		return x.usuals == 0 || x.usuals+x.regained() < confirming || x.inStep()
	}
	return !x.recorded() && x.doubts() == len(usualRests) && x.usuals < len(usualRests)
}

// gently tells a window that requests start anew from a ban that requests prolong. It asks for more than the
// quota, so slowly that a log would admit all. If every request starts the window anew, it asks for half the
// quota, and for more shortly before the window ends. Then it asks twice for all, each time shortly after the
// end. If a ban was found, it asks for the quota at a third of the rate. It reports false where nothing is to
// be asked.
func (x *search) gently(ctx context.Context) bool {
	if len(x.regions) == 0 {
		return false
	}
	r, name := x.regions[0], "gently"
	if r.Kind.Bans {
		name = "slowly"
	}
	h := r.Hull()
	if r.Kind.Base.Refresh == "" && !r.Kind.Bans || h.Q2 < 2 || x.made[name] > 0 {
		return false
	}
	x.made[name]++
	phases := []plan.Phase{{Name: name, Rest: 2 * h.T2, Requests: int(h.Q2) + 2,
		Every: max(x.every, h.T2*13/10/time.Duration(h.Q2))}}
	if r.Kind.Bans { // a bucket that refills as fast as requests came looks like any quota
		phases[0] = plan.Phase{Name: name, Rest: 2 * r.Recovery(), Requests: 5*int(h.Q2) + 3,
			Every:   3 * x.every,
			Denials: 1}
	}
	if r.Kind.Base.Refresh == spec.RefreshAll {
		all := plan.Phase{Name: name, Requests: int(h.Q2) + 1, Every: x.every, Denials: 1}
		half, early, late := all, all, all
		half.Rest, half.Requests = 2*h.T2, int(h.Q2+1)/2
		early.Rest, late.Rest = h.T1*9/10, h.T2*104/100
		phases = append(phases, half, early, late, late)
	}
	for _, p := range phases {
		if !x.send(ctx, p) {
			return false
		}
	}
	return true
}

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

// unbannedPhase is the name of the experiment that tells a ban after a denial.
const unbannedPhase = "unbanned"

// unbanned asks for the quota and no more, then once a little before a unit comes back, then once a little
// after. The first of these is denied. If that begins a ban, the second is denied too, however long the ban
// is.
//
//	a a a                 d a     the limit alone
//	a a a                 d d     with a ban
//
// It reports false where that was done often enough, or tells nothing more.
func (x *search) unbanned(ctx context.Context, most int) bool {
	if len(x.regions) == 0 || x.withoutQueue != nil || x.regions[0].Kind.Bans {
		return false
	}
	name := unbannedPhase + " " + x.regions[0].Text()
	made := x.made[name]
	if made >= most || made > 0 && x.banned(x.candidate(x.regions[0])) == nil {
		return false
	}
	x.made[name]++
	phases := x.denials(made)
	return len(phases) > 0 && x.sendAll(ctx, phases)
}

// denials are the phases of unbanned, more cautious each time. There are none where a unit comes back too
// soon to be denied before.
//
// If a denial puts the return off, a second denial follows soon, which counts for nothing during a ban. The
// third request comes when the first denial alone would be over. The limit denies it, a ban that has ended
// does not. The last request comes when the return is due.
func (x *search) denials(made int) []plan.Phase {
	const places = 4
	if phases := x.edge(); made < 2 && len(phases) > 0 {
		return phases
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
		c, once := all.Clone(), plan.Phase{Name: unbannedPhase, Requests: 1, Every: max(x.trip(), 1)}
		use := plan.Phase{Name: unbannedPhase, Rest: rest, Every: x.every, Denials: 1}
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
			return []plan.Phase{use, first, last}
		}
		second, third := once, once
		second.Rest = max(x.every, over-again+2*slack)
		soonest, _ := c.After(second)
		third.Rest = max(x.every, (over-second.Rest-x.trip()+soonest)/2)
		_, latest := c.After(third)
		last.Rest = max(x.every, latest+slack)
		return []plan.Phase{use, first, second, third, last}
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
	use := plan.Phase{Name: unbannedPhase, Requests: int(h.Q2) + 1, Every: x.every, Denials: 1}
	for i, all := 0, x.course(); i < 2*places; i++ {
		use.Rest = max(x.every, h.T2*time.Duration(i)/places)
		_, denied := all.Clone().After(plan.Phase{Rest: use.Rest}) // nothing is sent
		from, to := all.Clone().After(use)
		if denied > 0 || from < bearable/4 || to > bearable*3/4 {
			continue
		}
		return []plan.Phase{use, {Name: unbannedPhase, Rest: x.every, Requests: rungs, Every: step,
			Admits: 1}}
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

// slack is how long before or after an instant a request must be sent to be surely decided on that side of
// it.
func (x *search) slack() time.Duration {
	all := trip.Trips(x.shown(), timeline.Allowed, timeline.Denied)
	return all[len(all)*9/10] + x.tl.Header.Tick + time.Millisecond
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

// course is what is left of the first kind, from now on.
func (x *search) course() *plan.Course {
	var models []*plan.Model
	if r := x.regions[0]; len(r.Kind.Parts) == 0 {
		for _, b := range append([]space.Box{r.Kind.Conventional(r.Hull())}, r.Points(6, false)...) {
			b.Q1 = b.Q2
			for _, k := range r.Kind.ClockPhases() {
				if m := plan.NewModel(r, x.shown(), k, b); m != nil {
					models = append(models, m)
				}
			}
		}
	}
	return plan.NewCourse(models, x.s.Now(), x.trip())
}

// usualRest is the silence before the next usual experiment. It reports false where that would leave no time
// for others. Where the name depends on the experiment, it takes the next silence that fits the budget.
func (x *search) usualRest(whole time.Duration) (time.Duration, bool) {
	until, rests := x.o.MaxTime/2, usualRests[x.usuals:x.usuals+1]
	if !x.o.Fresh && x.usuals < confirming {
		// A bucket that was in use and was never left alone for long looks like a smaller one.
		if long := x.s.Now(); x.usuals == 0 && long > whole*rests[0]/100 && 2*long < until {
			return long, true
		}
		until, rests = x.sendUntil(), usualRests[x.usuals:]
	}
	for _, percent := range rests {
		rest := whole * percent / 100
		if percent == edge {
			rest -= x.lasted()
		}
		if rest = max(rest, x.every); x.s.Now()+rest < until {
			return rest, true
		}
	}
	return 0, false
}

// lasted is how long the last phase took.
func (x *search) lasted() time.Duration {
	all := x.tl.Observations
	i := len(all) - 1
	for i > 0 && all[i-1].Phase == all[len(all)-1].Phase {
		i--
	}
	return x.s.Now() - all[i].Sent
}

// usualExperiment makes the next usual experiment: it asks for the quota of the first kind that is left. It
// reports false where most were made, or nothing can be sent.
func (x *search) usualExperiment(ctx context.Context, most int) bool {
	likely := x.likely()
	if x.usuals >= most || len(likely) == 0 {
		return false
	}
	sure := &space.Region{Kind: likely[0].Kind, Beside: likely[0].Beside, Live: likely[0].Live}
	h, whole, every := sure.Hull(), sure.Recovery(), x.every
	if x.path != nil { // units may come back sooner
		every = x.dense
	}
	rest, fits := x.usualRest(whole)
	if fits || x.o.Fresh {
		x.usuals++
	}
	if !fits {
		return false
	}
	n := float64(h.Q2)
	if sure.Kind.Paced && x.path != nil && every < h.T1 {
		n /= 1 - float64(every)/float64(h.T1)
	}
	return x.send(ctx, plan.Phase{Name: "quota-after-" + plan.Brief(rest), Rest: rest, Requests: int(n) + 3,
		Every: every, Denials: 2})
}
