// Package recorded is what claims ask of a recording: the answers of each side, the limits that count them,
// the waits that these need, and what others may have done to its partitions.
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

// Terms are what is known of a recording beside what it says.
type Terms struct {
	// Limit counts all phases but those in Own; it may be empty. Own are the limits of phases that have one
	// of their own, by the names of the phases; an empty one where none counts the phase. It may be nil.
	Limit spec.Limit
	Own   map[string]spec.Limit
	// Shared tells that others may use the partitions, Used that an earlier run may have.
	Shared, Used bool
	// Promised is what the target promised to have; may be empty.
	Promised []verdict.Promise
}

// LongestWaits returns an upper bound on the true wait at each denial, by its Seq; denials of which none is
// known are missing. check.LongestWaits is one.
type LongestWaits func(*timeline.Timeline, spec.Limit) map[int]time.Duration

// Recording is a timeline with what several claims need of it.
type Recording struct {
	*timeline.Timeline
	Terms
	// Target are the observations through the target with an answer and a known outcome, Origin those at the
	// origin. Both ascend by Sent and may be empty.
	Target, Origin []*timeline.Observation
	// waits are the longest true waits by Seq of a denial. It is computed when first asked for.
	waits func() map[int]time.Duration
}

// New returns tl, whose observations ascend by Sent, as claims see it. longest is called once, when a wait is
// first asked for.
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

// Alone returns c, but where others may use the same partitions it takes a failure back, since they may be
// the reason: Inconclusive (foreign-traffic).
func (r *Recording) Alone(c verdict.Claim) verdict.Claim {
	if !r.Shared || c.Verdict != verdict.Fail {
		return c
	}
	return verdict.Claim{ID: c.ID, Kind: c.Kind, Reason: verdict.ForeignTraffic,
		Text: c.Text + "; but others may use the same partitions"}
}

// KeepsFields tells whether any answer of the target has fields: recordings from elsewhere may have none.
func (r *Recording) KeepsFields() bool {
	return slices.ContainsFunc(r.Target, func(o *timeline.Observation) bool { return len(o.Fields) > 0 })
}

// Unheard is the claim with an id on the answers to denied requests where there are some, and none was
// answered although the recording keeps answers: Inconclusive (needs-failed). Anywhere else ok is false.
func (r *Recording) Unheard(id string) (c verdict.Claim, ok bool) {
	denials := answer.Denied(r.Target)
	c = verdict.Claim{ID: id, Reason: verdict.NeedsFailed, Text: "no denial was answered"}
	return c, len(denials) > 0 && r.KeepsFields() && !slices.ContainsFunc(denials, answer.Heard)
}
