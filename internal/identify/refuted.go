package identify

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Refuted asks the judge about a limit. A limit that cannot be judged is not refuted.
//
// The judge lets a request without an answer be decided at any time until the end of the recording. One such
// request would explain any denial after it. Here it is decided within lateness, or never. Where an extra
// admission never leads to another one, admissions are explained best if lost requests never arrived, and
// denials if all were admitted.
func (a Asker) Refuted(tl *timeline.Timeline, l spec.Limit, side result.Conformance, search bool) bool {
	whole := tl
	tl, l = stretches(tl, l)
	ask := func(tl *timeline.Timeline, side result.Conformance) bool {
		return a.Ask(func() bool {
			no, err := check.Refuted(tl, l, side, search)
			return no && err == nil
		})
	}
	unknown := tl.Counts().Unknown
	opens := slices.ContainsFunc(l, func(p spec.Policy) bool { // an extra admission may move these
		return p.Align == spec.AlignFirst && p.Windowed() || p.Ban > 0
	})
	windowed := slices.ContainsFunc(l, spec.Policy.Windowed)
	if unknown > 0 && !Several(whole) && (opens || search && !windowed) {
		return branched(tl, l, func(tl *timeline.Timeline) bool { return ask(tl, side) })
	}
	if search || opens || unknown == 0 {
		return ask(tl, side)
	}
	return side != result.LowerBound && ask(without(tl), result.UpperBound) ||
		side != result.UpperBound && ask(admitted(tl), result.LowerBound) ||
		side == result.Exact && windowed && ask(tl, side) // each phase may fail on another side
}

// without is tl without the requests that have no outcome.
func without(tl *timeline.Timeline) *timeline.Timeline {
	out := *tl
	out.Observations = slices.DeleteFunc(slices.Clone(tl.Observations),
		func(o timeline.Observation) bool { return o.Outcome == timeline.Unknown })
	return &out
}

// admitted is tl as if the requests without an outcome had been admitted soon after they were sent.
func admitted(tl *timeline.Timeline) *timeline.Timeline {
	out, late := *tl, Lateness(tl)
	out.Observations = slices.Clone(tl.Observations)
	for i := range out.Observations {
		if o := &out.Observations[i]; o.Outcome == timeline.Unknown {
			o.Outcome, o.Answered, o.FirstByte, o.Done = timeline.Allowed, true, o.Sent+late, o.Sent+late
		}
	}
	out.Header.Ended = max(out.Header.Ended, out.End())
	return &out
}

// Lateness is the time within which a request without an answer was decided, or never.
func Lateness(tl *timeline.Timeline) time.Duration {
	const least = 500 * time.Millisecond
	return max(2*Slowest(tl), least)
}

// mostBranched is the most lost requests of a stretch for which every combination of outcomes is tried.
const mostBranched = 3

// branched asks about each stretch alone, since each begins anew. A stretch with few lost requests is refuted
// only if every combination of their outcomes is: admitted, never arrived or, where that matters, denied.
func branched(tl *timeline.Timeline, l spec.Limit, ask func(*timeline.Timeline) bool) bool {
	late := Lateness(tl)
	sure, doubtful := *tl, []*timeline.Timeline{}
	sure.Observations = nil
	for _, part := range Parted(tl) {
		if k := part.Counts().Unknown; k == 0 || k > mostBranched {
			sure.Observations = append(sure.Observations, part.Observations...)
		} else {
			doubtful = append(doubtful, part)
		}
	}
	if len(sure.Observations) > 0 && ask(&sure) {
		return true
	}
	outcomes := []timeline.Outcome{timeline.Allowed, timeline.Unknown}
	if slices.ContainsFunc(l, func(p spec.Policy) bool {
		return p.Count == spec.CountAll || p.Refresh == spec.RefreshAll || p.Ban > 0
	}) {
		outcomes = append(outcomes, timeline.Denied)
	}
	return slices.ContainsFunc(doubtful,
		func(part *timeline.Timeline) bool { return whatever(part, outcomes, late, ask) })
}

// whatever tells whether tl is refuted for every combination of outcomes of its lost requests.
func whatever(tl *timeline.Timeline, outcomes []timeline.Outcome, late time.Duration,
	ask func(*timeline.Timeline) bool) bool {
	i := slices.IndexFunc(tl.Observations,
		func(o timeline.Observation) bool { return o.Outcome == timeline.Unknown })
	if i < 0 {
		return len(tl.Observations) > 0 && ask(tl)
	}
	for _, outcome := range outcomes {
		branch := *tl
		if branch.Observations = slices.Clone(tl.Observations); outcome == timeline.Unknown {
			branch.Observations = slices.Delete(branch.Observations, i, i+1)
		} else {
			o := &branch.Observations[i]
			o.Outcome, o.Answered, o.FirstByte, o.Done = outcome, true, o.Sent+late, o.Sent+late
		}
		branch.Header.Ended = max(branch.Header.Ended, branch.End())
		if !whatever(&branch, outcomes, late, ask) {
			return false
		}
	}
	return true
}

// Several tells whether a recording has more than one client.
func Several(tl *timeline.Timeline) bool {
	return slices.ContainsFunc(tl.Observations, func(o timeline.Observation) bool {
		return o.Partition != tl.Observations[0].Partition
	})
}
