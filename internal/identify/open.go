package identify

import (
	"context"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// The first phases.
const (
	firstPhase    = "first"
	quotaPhase    = "quota"
	fasterPhase   = "quota-faster"
	comebackPhase = "comeback"
)

// open asks once, then for the quota, then for its return. It reports false where there is nothing more to
// do.
func (x *search) open(ctx context.Context) bool {
	for x.skip == 0 && x.tl.Counts().Unknown == len(x.tl.Observations) { // a lost answer tells nothing
		if !x.send(ctx, plan.Phase{Name: firstPhase, Requests: 1}) {
			return false
		}
	}
	quota := plan.Phase{Name: quotaPhase, Rest: x.o.Every, Requests: x.o.MaxRequests * 6 / 10,
		Every:   x.o.Every,
		Denials: 3}
	x.every = max(x.o.Every, x.trip()*5/4)
	if x.far = x.every > x.o.Every; x.far { // requests that wait for answers tell more, if some are denied
		quota.Every, quota.Requests = x.every, x.o.MaxRequests/10
		if !x.send(ctx, quota) {
			return false
		}
		quota.Name, quota.Requests = fasterPhase, x.o.MaxRequests*4/10
		x.nearer()
	}
	if x.shown().Counts().Denied == 0 {
		x.every, quota.Every = x.o.Every, x.o.Every
		ask := x.askQuota
		if x.far { // in parts, a short window would begin anew between them
			ask = x.send
		}
		if !ask(ctx, quota) {
			return false
		}
	}
	if queued(x.shown(), x.tl.Observations[len(x.tl.Observations)-1].Phase) {
		x.asQueue()
		if quota.Rest = x.trip(); x.shown().Counts().Denied == 0 && !x.send(ctx, quota) {
			return false
		}
	}
	if x.shown().Counts().Denied == 0 {
		x.stopped = identity.Undenied
		return false
	}
	return x.comeback(ctx) && (!x.far || x.bursts(ctx))
}

// askQuota sends a phase in growing parts until some requests are denied. It ends early where all answers are
// as late as in a queue: that denies no requests that come one at a time.
func (x *search) askQuota(ctx context.Context, p plan.Phase) bool {
	const some = 12
	for n := some; p.Requests > 0; n *= 2 {
		part, before := p, len(x.tl.Observations)
		part.Requests = min(n, p.Requests)
		if !x.send(ctx, part) {
			return false
		}
		seen := timeline.Timeline{Observations: x.tl.Observations[before:]}
		late := x.s.Now()+p.Every >= x.sendUntil()
		if late || seen.Counts().Denied > 0 ||
			queued(x.shown(), p.Name) && x.waiting(some-2) {
			break
		}
		p.Requests -= part.Requests
		p.Rest = p.Every
	}
	return true
}

// comeback asks ever more rarely until a request is admitted again, but densely about the time that a denial
// states. Twice the rest each time would lose up to a minute of a window of a minute, so long rests become
// longer by a quarter. It reports false where the budget ends first.
func (x *search) comeback(ctx context.Context) bool {
	once := plan.Phase{Name: comebackPhase, Rest: 2 * x.every, Requests: 1}
	for believed := false; ; {
		last := &x.tl.Observations[len(x.tl.Observations)-1]
		if last.Outcome == timeline.Allowed {
			return true
		}
		ask := once
		if about, told := x.toldReturn(last); told && !believed && about.Rest > once.Rest {
			believed, ask, once.Rest = true, about, x.every
		}
		if !x.send(ctx, ask) {
			return false
		}
		if x.fewFit(3 * once.Rest) {
			once.Rest += once.Rest / 4
		} else {
			once.Rest *= 2
		}
	}
}

// Answers state their limit in header fields. identify believes none of them and shows them beside the
// measured limit. It only asks more densely about the time that a denial states.

// toldReturn is a phase that asks densely for the return of the quota, about the time that a denial states.
// Retry-After is in whole seconds, rounded up or down. It reports false where the denial states none, or the
// budget of time ends first.
func (x *search) toldReturn(denied *timeline.Observation) (plan.Phase, bool) {
	const rounded = time.Second + 100*time.Millisecond
	wait, told := identity.ToldWait(denied, x.s.Header().Started)
	wait += denied.FirstByte - x.s.Now()
	step := max(x.every, 2*rounded/plan.Rungs)
	return plan.Phase{Name: comebackPhase, Rest: wait - rounded, Requests: plan.Rungs + 1, Every: step,
			Admits: 1},
		told && x.s.Now()+wait+rounded < x.sendUntil()
}
