package claim

import (
	"slices"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Terms are what is known of a recording and does not stand in it.
type Terms struct {
	// Limit counts all phases but those in Own. It may be empty. Own are the limits of phases that have their
	// own, by the names of the phases. An empty one: no limit counts the phase. Own may be nil.
	Limit spec.Limit
	Own   map[string]spec.Limit
	// Shared: others may use the partitions. Used: an earlier run may have used them.
	Shared, Used bool
	// Promised are the promises of the target. May be empty.
	Promised []result.Promise
	// Spread is by which share of itself a stated wait may be too long on purpose, so that clients do not
	// come back together.
	Spread float64
	// Kept: the recording keeps fields, so an answer without fields has none that count.
	Kept bool
}

// LongestWaits returns an upper bound on the true wait at each denial, by its Seq. Denials without a known
// bound are missing. shared: others may use the same partitions. check.LongestWaits is such a function.
type LongestWaits func(tl *timeline.Timeline, limit spec.Limit, shared bool) map[int]time.Duration

// Recording is a timeline with what several claims need of it.
type Recording struct {
	*timeline.Timeline
	Terms
	// Target are the answered observations of the target with a known outcome. Origin are those of the
	// origin. Both ascend by Sent and may be empty.
	Target, Origin []*timeline.Observation
	// waits are the longest true waits by the Seq of a denial. They are computed when they are first needed.
	waits func() map[int]time.Duration
}

// NewRecording returns tl as claims see it. Its observations ascend by Sent. longest is called once, when a
// wait is first needed.
func NewRecording(tl *timeline.Timeline, t Terms, longest LongestWaits) *Recording {
	r := &Recording{Timeline: tl, Terms: t}
	r.waits = sync.OnceValue(func() map[int]time.Duration { return r.longestWaits(longest) })
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
