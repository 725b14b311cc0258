package claim

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// LacksFields tells whether p was not promised, and no answer of r shows it, not even a broken one. false if
// no answer came or no fields were kept, as nothing is known then.
func LacksFields(r *Recording, p result.Promise) bool {
	if slices.Contains(r.Promised, p) || !r.KeepsFields() {
		return false
	}
	return !slices.ContainsFunc(r.Target, func(o *timeline.Observation) bool { return shows(o, p) })
}

// shows tells whether an answer has what p promises, right or broken.
func shows(o *timeline.Observation, p result.Promise) bool {
	switch p {
	case result.PromiseRetryAfter:
		present, _ := readRetryAfter(o)
		return present
	case result.PromiseRateLimit:
		present, problems := readQuotas(o)
		return present || len(problems) > 0
	case result.PromiseProblem:
		present, _ := readProblem(o)
		return present
	default:
		return false
	}
}
