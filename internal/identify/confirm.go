package identify

import (
	"context"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Once one class is left, the planner has nothing to tell apart. Then the usual experiments ask for the quota
// after silences that could refute that class.

// usualRests are the silences before the usual experiments, in percent of the time in which the found limit
// recovers. The first comes amid its window, the second after a long silence, the third at another phase of
// its window. Then a bucket is not quite full, or a window is just over.
//
// The rest is for windows that nobody would write. Experiments that were made for another kind may have found
// the only window that explains them.
var usualRests = []time.Duration{60, 170, 137, 90, 104, 92, 104, 90, 43, 101, 55, 163, 35, 101, 48, 66}

const (
	// usualName is the name of these experiments in search.made.
	usualName = "usual"
	// ofAny is how many usual experiments suit any window.
	ofAny = 8
	// confirming is how many must be explained where others may have used the quota before.
	confirming = 3
)

// doubts is how many usual experiments must be explained: some, since nothing else shows what a long silence
// does, one less after several whole quotas or a steady load. All must be where the window may be one of a
// clock of whole seconds, or is none that people would write. Windows that begin anywhere explain much, so
// there the time must be one that people configure.
func (x *search) doubts() int {
	const from, to = 500 * time.Millisecond, 30 * time.Second
	for _, r := range x.regions {
		h := r.Hull()
		odd := !h.Round() || r.Kind.Base.Align == spec.AlignUnknown && !h.Configured()
		if !r.Kind.Paced && h.T2 > from && h.T1 < to && !x.pace.far &&
			(odd || len(x.byTheSecond(r)) > 0) {
			return len(usualRests)
		}
	}
	switch {
	case (answer{x}).regained() >= confirming:
		return confirming - 1
	}
	return confirming - x.made[steadyName]
}

// inStep tells whether units of the bucket that is left come back about as fast as requests were sent. Then
// small delays of requests explain any answers. Only requests sent from nearby tell.
func (x *search) inStep() bool {
	if len(x.regions) == 0 || !x.regions[0].Kind.Paced || x.recorded() || x.pace.far ||
		x.pace.every < near {
		return false
	}
	h, slack := x.regions[0].Hull(), 2*x.slack()
	return h.T1 < x.pace.every+slack && h.T2 > x.pace.every-slack
}

// slack is how long before or after an instant a request must be sent to be surely decided on that side of
// it.
func (w *wire) slack() time.Duration {
	return w.slow() + w.tl.Header.Tick + time.Millisecond
}

// unconfirmed says why the only class that is left is not named; empty where it may be.
func (x answer) unconfirmed() string {
	made := x.made[usualName]
	switch {
	case x.recorded():
		return ""
	case x.o.Fresh && x.doubts() == len(usualRests) && made < len(usualRests):
		return "the measured time is not round, and the budget ends before enough answers confirm it"
	case x.o.Fresh:
		return ""
	case x.inStep():
		return "requests were sent about as fast as units come back, so that small delays explain any " +
			"answers (another --max-rate tells more)"
	case made == 0 || made+x.regained() < confirming:
		return "others may have used the key before, and the budget ends before its quota was used up " +
			"often enough to be sure"
	}
	return ""
}

// regained is how many whole quotas were admitted since the first admission after a denial. Earlier use of
// the key cannot have changed these. A quota counts as ten requests at least.
func (x answer) regained() int {
	const least = 10 // with a quota of one, each admission would be a whole quota
	quota, admitted, denied := int64(least), int64(-1), false
	for _, r := range x.likely() {
		quota = max(quota, r.Hull().Q2)
	}
	if x.line != nil {
		quota = max(quota, x.line.box.Q2+1)
	}
	all := x.judged().Observations
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

// usualRest is the silence before the next usual experiment. It reports false where that would leave no time
// for others. Where the name depends on the experiment, it takes the next silence that fits the budget.
func (x *search) usualRest(whole time.Duration, bucket bool) (time.Duration, bool) {
	made := x.made[usualName]
	until, rests := x.o.MaxTime/2, usualRests[made:made+1]
	if !x.o.Fresh && made < confirming {
		// A bucket that was in use and was never left alone for long looks like a smaller one.
		if long := x.s.Now(); bucket && made == 0 && long > whole*rests[0]/100 && 2*long < until {
			return long, true
		}
		until, rests = x.sendUntil(), usualRests[made:]
	}
	const early, half = 350 * time.Millisecond, 850 * time.Millisecond
	for i, percent := range rests {
		rest := max(whole*percent/100, x.pace.every)
		// A clock of whole seconds mostly ended the window before. The next window begins half a second later
		// in its second.
		if n := made + i; !bucket && whole > 2*time.Second && n >= 2 && n < ofAny {
			rest = []time.Duration{whole - early, half}[n%2]
			rest = x.rest(rest, x.tl.Observations[len(x.tl.Observations)-1].FirstByte)
		}
		if x.s.Now()+rest < until {
			return rest, true
		}
	}
	return 0, false
}

// usualExperiment makes the next usual experiment: it asks for the quota of the first kind that is left. It
// reports false where most were made, or nothing can be sent.
func (x *search) usualExperiment(ctx context.Context, most int) bool {
	likely := x.likely()
	if x.made[usualName] >= min(most, len(usualRests)) || x.line == nil && len(likely)+len(x.ticked) == 0 {
		return false
	}
	whole, spends, paced, every := time.Duration(0), 0, x.line != nil, x.pace.every
	if paced { // at once, or a place comes free meanwhile
		p := x.line.Limit[0]
		whole, spends, every = p.Recovery(), int(p.Full())+int(x.line.box.Q2-x.line.box.Q1), x.o.Every
		if x.pace.far {
			every = x.pace.dense
		}
	} else if len(likely) > 0 {
		sure := &Region{Kind: likely[0].Kind, Live: likely[0].Live}
		whole, spends, paced = sure.Recovery(), sure.Kind.Spends(sure.Hull(), x.pace.every), sure.Kind.Paced
	} else {
		p := x.ticked[x.made[usualName]%len(x.ticked)].Limit[0]
		whole, spends = p.Recovery(), int(p.Full())
	}
	rest, fits := x.usualRest(whole, paced)
	if fits || x.o.Fresh {
		x.made[usualName]++
	}
	if !fits {
		return false
	}
	return x.send(ctx, Phase{Name: "quota-after-" + Brief(rest), Rest: rest,
		Requests: spends + 3, Every: every, Denials: 2})
}

// steadyName is the experiment that no silence interrupts.
const steadyName = "steady"

// steady sends evenly for longer than the window of the limit that is left. It reports false where that was
// done, or exceeds the budget. A limiter that bans answers bursts as one with another window does:
//
//	3 a second, 1m banned   a a a d ............ a a a d     as 3 a minute would
//	twice 3 a minute        a     a     a     a              but not here
//
// Twice the rate uses up the quota, unless the true window is shorter. A window that admissions start anew is
// asked at two thirds of its rate, which every other window admits for ever.
func (x *search) steady(ctx context.Context) bool {
	const most = 1000 // a larger quota takes the judge too long
	var p spec.Policy
	switch likely := x.likely(); {
	case len(likely) > 0 && !likely[0].Kind.Paced:
		p = likely[0].Kind.Policy(likely[0].Hull().Point())
	case len(likely) == 0 && len(x.ticked) > 0:
		p = x.ticked[0].Limit[0]
	}
	quota := p.Rate.N
	if quota < 2 || quota > most || x.made[steadyName] > 0 || x.recorded() {
		return false
	}
	e := Phase{Name: steadyName, Rest: p.Recovery(), Requests: int(2*quota) + 4,
		Every: max(x.pace.every, p.Rate.Per/time.Duration(2*quota))}
	if p.Refreshes() {
		e.Requests, e.Every = int(quota)+3, p.Rate.Per*3/time.Duration(2*quota)
	}
	if e.Requests > x.spare() || x.s.Now()+e.Rest+time.Duration(e.Requests)*e.Every > x.sendUntil() {
		return false
	}
	x.made[steadyName]++
	return x.send(ctx, e)
}

// overrunName is the phase that reaches a limit which answers state beside the found one: 1000 an hour beside
// 10 a second.
const overrunName = "overrun"

// overrun sends as fast as the found limit admits, for more than a quota that is stated beside it. It reports
// false where none is, or the budget does not reach it.
func (x *search) overrun(ctx context.Context) bool {
	if x.made[overrunName] > 0 || len(x.regions) == 0 {
		return false
	}
	all := x.beyonds()
	if len(all) == 0 || all[0].phase.Requests > x.spare() {
		return false
	}
	x.made[overrunName]++
	if c, stands := (answer{x}).candidate(x.regions[0]); stands {
		x.beside = &both{c, all[0].quota}
	}
	return x.send(ctx, all[0].phase)
}

// both is a limit that was found, and the quota that answers state beside it.
type both struct {
	first Candidate
	told  headers.Quota
}

// explained returns the two limits as one that explains the recording; nil for none.
func (b *both) explained(by Asker, tl *timeline.Timeline) *Candidate {
	if b == nil {
		return nil
	}
	for _, p := range []spec.Policy{{Algorithm: spec.FixedWindow, Align: spec.AlignFirst},
		{Algorithm: spec.FixedWindow, Align: spec.AlignUnknown}, {Algorithm: spec.SlidingWindowLog}} {
		p.Rate = spec.Rate{N: b.told.Limit, Per: b.told.Window}
		out := b.first
		if out.Limit = append(slices.Clone(out.Limit), Complete(p)); by.Explains(tl, out.Limit) {
			return &out
		}
	}
	return nil
}

// beyond is a quota that is stated beside the found limit, and the phase that reaches it.
type beyond struct {
	quota headers.Quota
	phase Phase
}

// beyonds are the larger quotas of longer windows that the first denial states, those that are reached first
// before the others.
func (x *search) beyonds() (out []beyond) {
	o := firstDenied(x.tl)
	if o == nil || len(x.regions) == 0 {
		return nil
	}
	r := x.regions[0]
	h, every := r.Hull(), r.Hull().T2
	if !r.Kind.Paced {
		every /= time.Duration(h.Q2)
	}
	every = max(x.pace.every, every*51/50)
	for _, q := range stated(o, x.tl, x.o.Cost) {
		known := func(b beyond) bool { return b.quota.Limit == q.Limit && b.quota.Window == q.Window }
		if !q.HasLimit || q.Limit <= h.Q2 || q.Window <= 2*r.Recovery() || slices.ContainsFunc(out, known) {
			continue
		}
		const more = 3
		out = append(out, beyond{q, Phase{Name: overrunName, Rest: every, Every: every, Denials: 2,
			Requests: int(max(0, q.Limit-x.admitted(q.Window))) + more}})
	}
	slices.SortStableFunc(out, func(a, b beyond) int { return a.phase.Requests - b.phase.Requests })
	return out
}

// admitted counts the requests that were admitted within the last window.
func (w *wire) admitted(window time.Duration) (n int64) {
	tl := w.judged()
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Outcome == timeline.Allowed && o.Sent > tl.End()-window {
			n++
		}
	}
	return n
}
