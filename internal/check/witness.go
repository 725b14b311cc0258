package check

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// onlyAsked returns a breach in which the denials that count against another request are no denials to be
// explained: what explains them is not among the events.
func onlyAsked(br *breach) *breach {
	if br.kind == verdict.NoExplanation {
		return br
	}
	one := *br
	one.events = slices.Clone(br.events)
	for i := range one.events {
		if ev := &one.events[i]; ev.outcome == timeline.Denied &&
			(br.kind != verdict.UnderAdmission || ev.seq != br.asked) {
			ev.outcome, ev.mute = timeline.Unknown, true
		}
	}
	return &one
}

// reach returns the span from the first Sent to the last end of the observations.
func reach(obs []timeline.Observation, end time.Duration) (from, to time.Duration) {
	for i := range obs {
		until := end
		if obs[i].Answered {
			until = max(obs[i].FirstByte, obs[i].Sent)
		}
		if i == 0 {
			from, to = obs[i].Sent, until
		}
		from, to = min(from, obs[i].Sent), max(to, until)
	}
	return from, to
}
