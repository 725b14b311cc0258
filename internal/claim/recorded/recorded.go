// Package recorded is what claims read from a recording: the answers of each side, the limits that count
// them, the waits that they need, and what others may have done to its partitions.
package recorded

import (
	"slices"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/claim/answer"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
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
	Promised []verdict.Promise
	// Kept: the recording keeps fields, so an answer without fields has none that count.
	Kept bool
}

// LongestWaits returns an upper bound on the true wait at each denial, by its Seq. Denials without a known
// bound are missing. check.LongestWaits is such a function.
type LongestWaits func(*timeline.Timeline, spec.Limit) map[int]time.Duration

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

// New returns tl as claims see it. Its observations ascend by Sent. longest is called once, when a wait is
// first needed.
func New(tl *timeline.Timeline, t Terms, longest LongestWaits) *Recording {
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
func (r *Recording) Alone(c verdict.Claim) verdict.Claim {
	if !r.Shared || c.Verdict != verdict.Fail {
		return c
	}
	return verdict.Claim{ID: c.ID, Kind: c.Kind, Reason: verdict.ForeignTraffic,
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
func (r *Recording) Unheard(id string) (c verdict.Claim, ok bool) {
	denials := answer.Denied(r.Target)
	c = verdict.Claim{ID: id, Reason: verdict.NeedsFailed, Text: "no denial was answered"}
	return c, len(denials) > 0 && r.KeepsFields() && !slices.ContainsFunc(denials, answer.Heard)
}
