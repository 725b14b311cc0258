package claim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// suspectLateness is how late the 99th percentile of requests may be sent before the recorder counts as
// overloaded, if a scenario does not say.
const suspectLateness = 5 * time.Millisecond

// latest is how late the 99th percentile may be before the recorder itself is suspect.
func (r *Recording) latest() time.Duration { return cmp.Or(r.LateP99, suspectLateness) }

// lateness returns how late against the plan o was sent; 0: it was early.
func lateness(o *timeline.Observation) time.Duration { return max(0, o.Sent-o.At) }

// lateP99 returns how late the 99th percentile of all requests was sent, and the request at that rank; nil:
// there are no requests. A request that follows an answer is planned when it is due, so it counts like the
// others.
func (r *Recording) lateP99() (time.Duration, *timeline.Observation) {
	if len(r.Observations) == 0 {
		return 0, nil
	}
	obs := make([]*timeline.Observation, len(r.Observations))
	for i := range obs {
		obs[i] = &r.Observations[i]
	}
	slices.SortStableFunc(obs,
		func(a, b *timeline.Observation) int { return cmp.Compare(lateness(a), lateness(b)) })
	at := obs[nearestRank(0.99, len(obs))-1]
	return lateness(at), at
}

// stalls returns the times in which the recorder did not run, or a due request was not yet sent.
func (r *Recording) stalls() []timeline.Stall {
	all := slices.Clone(r.Header.Stalls)
	for i := range r.Observations {
		if o := &r.Observations[i]; lateness(o) > 0 {
			all = append(all, timeline.Stall{From: o.At, To: o.Sent})
		}
	}
	return all
}

// schedule judges that the plan was kept. A missed plan is never the target's fault, so it is never a Fail.
func (r *Recording) schedule() result.Claim {
	late, at := r.lateP99()
	of := ""
	if at != nil {
		of = fmt.Sprintf(" (#%d)", at.Seq)
	}
	return Schedule(&r.Header, len(r.Observations), late, of, r.LateP99)
}

// Schedule returns the claim that a plan was kept. n requests were sent, the 99th percentile of them so late.
// of says which request that is.
func Schedule(h *timeline.Header, n int, late time.Duration, of string, bound time.Duration) result.Claim {
	c := result.Claim{ID: string(result.ClaimSchedule)}
	switch {
	case h.Interrupted:
		c.Reason = result.Interrupted
		c.Text = fmt.Sprintf("the recording stopped after %s", text.Plural(n, "request"))
	case h.Unsent > 0:
		c.Reason = result.ScheduleMissed
		c.Text = fmt.Sprintf("%d of %s could not be sent", h.Unsent,
			text.Plural(h.Unsent+n, "planned request"))
	case late > bound:
		c.Reason = result.ScheduleMissed
		c.Text = fmt.Sprintf("the 99th percentile of %s was sent %s late%s, over %s",
			text.Plural(n, "request"), Millis(late), of, Millis(bound))
	default:
		c = result.Settle(c.ID, fmt.Sprintf("the 99th percentile of %s was sent %s late, at most %s is "+
			"allowed", text.Plural(n, "request"), Millis(late), Millis(bound)),
			result.Of(n, "requests whose sending was timed"))
	}
	c.Kind = result.ClaimSchedule
	return c
}

// overloaded says why the recorder itself is suspect: it could not send all requests, or sent them late.
// Empty: it is not.
func (r *Recording) overloaded() string {
	if n := r.Header.Unsent; n > 0 {
		return text.Plural(n, "planned request") + " could not be sent"
	}
	if late, _ := r.lateP99(); late > r.latest() {
		return "the 99th percentile of requests was sent " + Millis(late) + " late"
	}
	return ""
}
