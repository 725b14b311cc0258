// Package answer reads what one answer tells, and picks the answers of a kind.
package answer

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

// Heard tells whether an answer came: a denial may be the end of its connection, where the target declares
// that. Then there is no status, no field and no body to judge.
func Heard(o *timeline.Observation) bool {
	return o.Outcome != timeline.Denied || o.Status != 0 || len(o.Fields) > 0 || o.Body != ""
}

// Denied returns those of obs that were denied, in order, answered or not; nil where there is none.
func Denied(obs []*timeline.Observation) []*timeline.Observation {
	return Only(obs, func(o *timeline.Observation) bool { return o.Outcome == timeline.Denied })
}

// Only returns the observations for which keep is true, in order; nil where there is none.
func Only(obs []*timeline.Observation, keep func(*timeline.Observation) bool) []*timeline.Observation {
	var out []*timeline.Observation
	for _, o := range obs {
		if keep(o) {
			out = append(out, o)
		}
	}
	return out
}

// DecidedBy returns the end of the interval in which o was decided; reference.Never where that may be at any
// later time, since an answer that tells no outcome is no proof that a decision was made before it.
func DecidedBy(o *timeline.Observation) time.Duration {
	if !o.Answered || o.Outcome == timeline.Unknown {
		return reference.Never
	}
	return o.FirstByte
}
