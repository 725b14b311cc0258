package check

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// OnlyAsked returns br with the outcome of its denials unknown, but for the one that was asked. These denials
// count against other requests. What explains them is not among the events.
func OnlyAsked(br *limiter.Breach) *limiter.Breach {
	if br.Kind == result.NoExplanation {
		return br
	}
	one := *br
	one.Events = slices.Clone(br.Events)
	for i := range one.Events {
		if ev := &one.Events[i]; ev.Outcome == timeline.Denied &&
			(br.Kind != result.UnderAdmission || ev.Seq != br.Asked) {
			ev.Outcome, ev.Unprovable = timeline.Unknown, true
		}
	}
	return &one
}

// Reach returns the span from the first Sent to the last end of the observations. end is the end of the
// recording.
func Reach(obs []history.Observation, end time.Duration) (from, to time.Duration) {
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
