package identify

import (
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Soonest is the shortest time from a request to its answer.
func Soonest(tl *timeline.Timeline) time.Duration {
	out := time.Duration(math.MaxInt64 / 4)
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Answered {
			out = min(out, o.FirstByte-o.Sent)
		}
	}
	return out
}

// Slowest is the longest time from a request to its answer.
func Slowest(tl *timeline.Timeline) (out time.Duration) {
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Answered {
			out = max(out, o.FirstByte-o.Sent)
		}
	}
	return out
}

// Unqueued is how long an answer takes that waits in no queue: as long as the slowest denial, or a bit longer
// than the fastest answer.
func Unqueued(tl *timeline.Timeline) time.Duration {
	soon := Soonest(tl)
	out := time.Duration(0)
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Outcome == timeline.Denied {
			out = max(out, o.FirstByte-o.Sent)
		}
	}
	if out == 0 {
		return soon * 2
	}
	const jitter = 40 * time.Millisecond
	return max(out, soon+min(soon, jitter))
}

// Undelayed is the recording in which all admissions were decided within soon.
func Undelayed(tl *timeline.Timeline, soon time.Duration) *timeline.Timeline {
	out := *tl
	out.Observations = slices.Clone(tl.Observations)
	for i := range out.Observations {
		if o := &out.Observations[i]; o.Outcome == timeline.Allowed {
			o.FirstByte = min(o.FirstByte, o.Sent+soon)
		}
	}
	out.Header.Ended = max(tl.Header.Ended, tl.End())
	return &out
}
