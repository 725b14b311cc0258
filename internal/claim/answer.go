package claim

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Statuses returns the statuses of obs, ascending, each once.
func Statuses(obs []*timeline.Observation) []int {
	var out []int
	for _, o := range obs {
		if i, found := slices.BinarySearch(out, o.Status); !found {
			out = slices.Insert(out, i, o.Status)
		}
	}
	return out
}

// IsDenial tells whether o is a denial that the target, not the origin, answered.
func IsDenial(o *timeline.Observation) bool {
	return o.Answered && o.Outcome == timeline.Denied && !o.Origin
}

// Heard tells whether an answer came. A target may declare that it denies by ending the connection. Such a
// denial has no status, no fields and no body to judge.
func Heard(o *timeline.Observation) bool {
	return o.Outcome != timeline.Denied || o.Status != 0 || len(o.Fields) > 0 || o.Body != ""
}

// Denied returns the denied observations, in order, answered or not. nil: there are none.
func Denied(obs []*timeline.Observation) []*timeline.Observation {
	return Only(obs, func(o *timeline.Observation) bool { return o.Outcome == timeline.Denied })
}

// Only returns the observations for which keep is true, in order. nil: there are none.
func Only(obs []*timeline.Observation, keep func(*timeline.Observation) bool) []*timeline.Observation {
	var out []*timeline.Observation
	for _, o := range obs {
		if keep(o) {
			out = append(out, o)
		}
	}
	return out
}

// DecidedBy returns the end of the interval in which o was decided. It is reference.Never if o may be decided
// at any later time: an answer without an outcome does not prove an earlier decision.
func DecidedBy(o *timeline.Observation) time.Duration {
	if !o.Answered || o.Outcome == timeline.Unknown {
		return reference.Never
	}
	return o.FirstByte
}
