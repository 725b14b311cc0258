package claim

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// promiseOf names the promise that a group of fields rests on; the other groups are asked of every target,
// since a standard says MUST or SHOULD.
func promiseOf(g FieldGroup) (verdict.Promise, bool) {
	switch g {
	case RetryAfterField:
		return verdict.PromiseRetryAfter, true
	case RateLimitFields:
		return verdict.PromiseRateLimit, true
	case ProblemBody:
		return verdict.PromiseProblem, true
	default:
		return "", false
	}
}

// lacks tells whether p was not promised, and no answer of the recording shows it, not even a broken one.
// Where no answer came, or no fields were kept, nothing is known: then it is false.
func (r *recording) lacks(p verdict.Promise) bool {
	if slices.Contains(r.Promised, p) || !r.KeepsFields() {
		return false
	}
	return !slices.ContainsFunc(r.Target, func(o *timeline.Observation) bool { return shows(o, p) })
}

// Lacks tells whether e does not promise p, and no answer of tl shows it, not even a broken one.
func Lacks(tl *timeline.Timeline, e Expect, p verdict.Promise) bool {
	return newRecording(tl, nil, e, nil).lacks(p)
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
