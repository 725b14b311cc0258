package identify

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// refuted asks the judge about a policy. One that cannot be judged is not refuted.
//
// The judge takes a request without an answer to be decided at any time until the end of the recording, so
// that one of them explains any denial after it. Here it is decided soon or never, as stretches supposes.
// Where more admissions never admit more, what was admitted is explained best without such requests, and what
// was denied by their admission.
func refuted(tl *timeline.Timeline, p spec.Policy, side verdict.Conformance, search bool) bool {
	tl, p = stretches(tl, p)
	ask := func(tl *timeline.Timeline, side verdict.Conformance) bool {
		no, err := check.Refuted(tl, spec.Limit{p}, side, search)
		return no && err == nil
	}
	opens := p.Align == spec.AlignFirst && p.Windowed() // an admission may open a window, and so end one
	if search || opens || tl.Counts().Unknown == 0 {
		return ask(tl, side)
	}
	return side != verdict.LowerBound && ask(without(tl), verdict.UpperBound) ||
		side != verdict.UpperBound && ask(admitted(tl), verdict.LowerBound) ||
		side == verdict.Exact && p.Windowed() && ask(tl, side) // each place of its windows by another side
}

// without is tl without the requests that have no outcome.
func without(tl *timeline.Timeline) *timeline.Timeline {
	out := *tl
	out.Observations = slices.DeleteFunc(slices.Clone(tl.Observations),
		func(o timeline.Observation) bool { return o.Outcome == timeline.Unknown })
	return &out
}

// admitted is tl with the requests that have no outcome admitted, soon after they were sent.
func admitted(tl *timeline.Timeline) *timeline.Timeline {
	out, late := *tl, lateness(tl)
	out.Observations = slices.Clone(tl.Observations)
	for i := range out.Observations {
		if o := &out.Observations[i]; o.Outcome == timeline.Unknown {
			o.Outcome, o.Answered, o.FirstByte, o.Done = timeline.Allowed, true, o.Sent+late, o.Sent+late
		}
	}
	out.Header.Ended = max(out.Header.Ended, out.End())
	return &out
}

// lateness is the time within which a request without an answer is decided, if it is.
func lateness(tl *timeline.Timeline) time.Duration {
	const least = 500 * time.Millisecond
	return max(2*slowest(tl), least)
}
