package identify

import (
	"context"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

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
