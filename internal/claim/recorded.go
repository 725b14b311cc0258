package claim

import (
	"slices"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// LongestWaits returns an upper bound on the true wait at each denial, by its Seq. Denials without a known
// bound are missing. shared: others may use the same partitions. check.LongestWaits is such a function.
type LongestWaits func(tl *timeline.Timeline, limit spec.Limit, shared bool) map[int]time.Duration

// Recording is a timeline with what several claims need of it.
type Recording struct {
	*timeline.Timeline
	Expect
	// Limit counts all phases but those in Expect.Limits. It may be empty.
	Limit spec.Limit
	// Target are the answered observations of the target with a known outcome. Origin are those of the
	// origin. Both ascend by Sent and may be empty.
	Target, Origin []*timeline.Observation
	// What follows is computed when it is first needed: the longest true waits by the Seq of a denial, the
	// answers that state a quota, and the denials that followed a denial (deniedAgain).
	waits   func() map[int]time.Duration
	tellers func() []teller
	again   func() map[int]*timeline.Observation
	// noted: a claim has already named the fields whose meaning is unknown.
	noted bool
}

// newRecording returns tl as claims see it. Its observations ascend by Sent. longest is called once, when a
// wait is first needed.
func newRecording(tl *timeline.Timeline, limit spec.Limit, e Expect, longest LongestWaits) *Recording {
	r := &Recording{Timeline: tl, Limit: limit, Expect: e}
	r.waits = sync.OnceValue(func() map[int]time.Duration { return r.longestWaits(longest) })
	r.tellers, r.again = sync.OnceValue(r.tellingAnswers), sync.OnceValue(r.deniedAgain)
	for i := range tl.Observations {
		o := &tl.Observations[i]
		switch {
		case !o.Answered || o.Outcome == timeline.Unknown:
		case o.Origin:
			r.Origin = append(r.Origin, o)
		default:
			r.Target = append(r.Target, o)
		}
	}
	return r
}

// sent returns the requests to the target of some phases, answered or not, in their order.
func (r *Recording) sent(phases ...string) (out []*timeline.Observation) {
	for i := range r.Observations {
		if o := &r.Observations[i]; !o.Origin && slices.Contains(phases, o.Phase) {
			out = append(out, o)
		}
	}
	return out
}

// Alone returns c. If others may use the same partitions, a failure becomes Inconclusive (foreign-traffic),
// since they may be the reason.
func (r *Recording) Alone(c result.Claim) result.Claim {
	if !r.Shared || c.Verdict != result.Fail {
		return c
	}
	return result.Claim{ID: c.ID, Kind: c.Kind, Reason: result.ForeignTraffic,
		Text: c.Text + "; but others may use the same partitions"}
}

// KeepsFields tells whether the target answered, and the fields of its answers are known. Recordings of other
// tools may have none.
func (r *Recording) KeepsFields() bool {
	fielded := func(o *timeline.Observation) bool { return len(o.Fields) > 0 }
	return r.Kept && len(r.Target) > 0 || slices.ContainsFunc(r.Target, fielded)
}

// Unheard returns the claim with an id on answers to denied requests: Inconclusive (needs-failed). ok=false:
// there are no denials, or one of them was answered, or the recording keeps no answers.
func (r *Recording) Unheard(id string) (c result.Claim, ok bool) {
	denials := Denied(r.Target)
	c = result.Claim{ID: id, Reason: result.NeedsFailed, Text: "no denial was answered"}
	return c, len(denials) > 0 && r.KeepsFields() && !slices.ContainsFunc(denials, Heard)
}
