package identify

import (
	"context"
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

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
	n := int(h.Q2)
	if x.path != nil {
		n = sure.Kind.Spends(h, every)
	}
	return x.send(ctx, plan.Phase{Name: "quota-after-" + plan.Brief(rest), Rest: rest, Requests: n + 3,
		Every: every, Denials: 2})
}
