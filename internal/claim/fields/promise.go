package fields

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/claim/recorded"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Lacks tells whether p was not promised, and no answer of r shows it, not even a broken one. false if no
// answer came or no fields were kept, as nothing is known then.
func Lacks(r *recorded.Recording, p verdict.Promise) bool {
	if slices.Contains(r.Promised, p) || !r.KeepsFields() {
		return false
	}
	return !slices.ContainsFunc(r.Target, func(o *timeline.Observation) bool { return shows(o, p) })
}

// shows tells whether an answer has what p promises, right or broken.
func shows(o *timeline.Observation, p verdict.Promise) bool {
	switch p {
	case verdict.PromiseRetryAfter:
		present, _ := readRetryAfter(o)
		return present
	case verdict.PromiseRateLimit:
		present, problems := readQuotas(o)
		return present || len(problems) > 0
	case verdict.PromiseProblem:
		present, _ := readProblem(o)
		return present
	default:
		return false
	}
}
