package identify

import (
	"cmp"
	"context"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/identify/trip"
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

// slack is how long before or after an instant a request must be sent to be surely decided on that side of
// it.
func (x *search) slack() time.Duration {
	all := trip.Trips(x.shown(), timeline.Allowed, timeline.Denied)
	return all[len(all)*9/10] + x.tl.Header.Tick + time.Millisecond
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
