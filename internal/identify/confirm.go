package identify

import (
	"context"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// confirm asks for more where one class is left, or none: what would refute it, or explain more. It reports
// false where nothing is to be asked.
func (x *search) confirm(ctx context.Context) bool {
	switch {
	case x.aside != nil && !x.queueExplains():
		x.unlike = x.regions
		x.noQueue()
		return true
	case len(x.regions) == 0:
		return x.path == nil && x.widen(ctx)
	}
	doubts := x.doubts()
	if x.path != nil { // as many as the budget allows belie a path that is not steady
		doubts = len(usualRests)
	}
	return x.gently(ctx) || x.partly(ctx) || x.usual(ctx, doubts) || x.quietly(ctx) || x.overrun(ctx)
}

// usualRests are the silences before the usual experiments, in percent of the time in which what was found
// recovers: two at other places of its window, one amid it, and then so that a bucket is never quite full,
// and so that a window is just over.
//
// What comes after them is for a window that nobody would write: experiments that were made for what it is
// not may have found the only one that explains them.
var usualRests = []time.Duration{210, 137, 60, 90, 104, 92, 104, 90, 43, 117, 55, 163, 35, 71, 48, 66}

// ofAny is how many of them are for any window.
const ofAny = 8

// confirming is how many of them must be explained where others may have used the quota before.
const confirming = 3

// doubts is how many of the usual experiments must be explained: some where others may have used the quota
// before, all where a window of some seconds was found. A clock of whole seconds, which is not looked for,
// makes windows of 1 to 2 s of one of 2 s, and what is measured lies somewhere between.
func (x *search) doubts() int {
	const from, to = 500 * time.Millisecond, 30 * time.Second
	for _, r := range x.regions {
		if h := r.hull(); !r.kind.paced && h.t2 > from && h.t1 < to {
			if !h.round() {
				return len(usualRests)
			}
			return ofAny
		}
	}
	if x.o.Fresh { // what a long silence does is seen nowhere else
		return 1
	}
	return confirming
}

// unconfirmed tells whether too few of the usual experiments could be made.
func (x *search) unconfirmed() bool {
	if !x.o.Fresh {
		return x.usuals < confirming // others may explain why the truth is gone
	}
	return !x.recorded() && x.doubts() == len(usualRests) && x.usuals < len(usualRests)
}

// gently asks, where a window was found that requests start anew, what a ban that requests prolong answers
// otherwise: for one more than the quota, so slowly that a log admits all of them; for half of it, and the
// rest a little before it comes back; and twice for all, a little after that. Where a ban was found, it
// asks for the quota at a third of the rate. It reports false where nothing is to be asked.
func (x *search) gently(ctx context.Context) bool {
	if len(x.regions) == 0 {
		return false
	}
	r, name := x.regions[0], "gently"
	if r.kind.bans {
		name = "slowly"
	}
	h := r.hull()
	if r.kind.base.Refresh == "" && !r.kind.bans || h.q2 < 2 || x.made[name] > 0 {
		return false
	}
	x.made[name]++
	phases := []Phase{{Name: name, Rest: 2 * h.t2, Requests: int(h.q2) + 2,
		Every: max(x.every, h.t2*13/10/time.Duration(h.q2))}}
	if r.kind.bans { // what refills as fast as was asked looks like any quota
		phases[0] = Phase{Name: name, Rest: 2 * r.whole(), Requests: 5*int(h.q2) + 3, Every: 3 * x.every,
			Denials: 1}
	}
	if r.kind.base.Refresh == spec.RefreshAll {
		all := Phase{Name: name, Requests: int(h.q2) + 1, Every: x.every, Denials: 1}
		half, early, late := all, all, all
		half.Rest, half.Requests = 2*h.t2, int(h.q2+1)/2
		early.Rest, late.Rest = h.t1*9/10, h.t2*104/100
		phases = append(phases, half, early, late, late)
	}
	for _, p := range phases {
		if !x.send(ctx, p) {
			return false
		}
	}
	return true
}

// partly asks, where a window was found, for two thirds of its quota, and for all late in the window:
// replicas that tell each other late what they admitted have twice the quota until then. It reports false
// where nothing is to be asked.
func (x *search) partly(ctx context.Context) bool {
	const name = "partly"
	if len(x.regions) == 0 || x.made[name] > 0 || x.regions[0].kind.paced || x.regions[0].hull().q2 < 3 {
		return false
	}
	x.made[name]++
	h, whole := x.regions[0].hull(), x.regions[0].whole()
	some := Phase{Name: name, Rest: 2*whole + whole/10, Requests: int(h.q2) * 2 / 3, Every: x.every}
	rest := Phase{Name: name, Rest: h.t1 * 3 / 4, Requests: int(h.q2) + 1, Every: x.every, Denials: 1}
	return x.s.Now()+some.Rest+rest.Rest < x.o.MaxTime/2 && x.send(ctx, some) && x.send(ctx, rest)
}

// quietly asks for the whole quota and no more, and then a little before it comes back, as is supposed. Who
// was always denied before may have been kept away longer by that. It reports false where nothing is to be
// asked.
func (x *search) quietly(ctx context.Context) bool {
	const name = "quietly"
	if len(x.regions) == 0 || x.made[name] > 0 || x.aside != nil {
		return false
	}
	x.made[name]++
	r := x.regions[0]
	h := r.hull()
	m := r.newModel(x.shown(), r.kind, h.usual())
	if m == nil || h.q2 < 2 {
		return false
	}
	use := Phase{Name: name, Rest: 2 * r.whole(), Requests: int(h.q2), Every: x.every, Denials: 1}
	shown, s, at := m.predict(x.s.Now(), x.trip()/2, []Phase{use})
	_, d := m.limiter.Step(s, at, 1)
	early := d.RetryAfter * 9 / 10
	if shown[0].denied > 0 || early < x.every || x.s.Now()+use.Rest+d.RetryAfter > x.o.MaxTime/2 {
		return false
	}
	return x.send(ctx, use) && x.send(ctx, Phase{Name: name, Rest: early, Requests: 1})
}

// whole is the time in which all that r admits comes back, at most.
func (r *region) whole() (out time.Duration) {
	for _, one := range append(besides([]*region{r}), r) {
		h := one.hull()
		if out = max(out, h.t2, h.d2); one.kind.paced {
			out = max(out, h.t2*time.Duration(h.q2))
		}
	}
	return out
}

// usual asks for the quota of the first kind that is left, as the next of the usual experiments does. It
// reports false where most of them were made, or nothing can be sent.
func (x *search) usual(ctx context.Context, most int) bool {
	likely := x.likely()
	if x.usuals >= most || len(likely) == 0 {
		return false
	}
	sure := &region{kind: likely[0].kind, beside: likely[0].beside, live: likely[0].live}
	h, whole, every := sure.hull(), sure.whole(), x.every
	if x.path != nil { // units may come back sooner
		every = x.dense
	}
	rest := max(whole*usualRests[x.usuals]/100, x.every)
	x.usuals++
	if x.s.Now()+rest > x.o.MaxTime/2 { // there would be no time for others
		return false
	}
	return x.send(ctx, Phase{Name: "quota-after-" + brief(rest), Rest: rest, Requests: int(h.q2) + 3,
		Every: every, Denials: 2})
}
