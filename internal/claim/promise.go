package claim

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// promiseOf names the promise that a group of fields rests on; the other groups are asked of every target,
// since a standard says MUST or SHOULD.
func promiseOf(g FieldGroup) (check.Promise, bool) {
	switch g {
	case RetryAfterField:
		return check.PromiseRetryAfter, true
	case RateLimitFields:
		return check.PromiseRateLimit, true
	case ProblemBody:
		return check.PromiseProblem, true
	default:
		return "", false
	}
}

// lacks tells whether p was not promised, and no answer of the recording shows it, not even a broken one.
// Where no answer came, or no fields were kept, nothing is known: then it is false.
func (r *recording) lacks(p check.Promise) bool {
	if slices.Contains(r.promised, p) || !r.keepsFields() {
		return false
	}
	return !slices.ContainsFunc(r.target, func(o *timeline.Observation) bool { return shows(o, p) })
}

// Lacks tells whether e does not promise p, and no answer of tl shows it, not even a broken one.
func Lacks(tl *timeline.Timeline, e Expect, p check.Promise) bool {
	return newRecording(tl, nil, e, nil).lacks(p)
}

// keepsFields tells whether any answer of the target has fields: recordings from elsewhere may have none.
func (r *recording) keepsFields() bool {
	return slices.ContainsFunc(r.target, func(o *timeline.Observation) bool { return len(o.Fields) > 0 })
}

// shows tells whether an answer has what p promises, right or broken.
func shows(o *timeline.Observation, p check.Promise) bool {
	switch p {
	case check.PromiseRetryAfter:
		present, _ := readRetryAfter(o)
		return present
	case check.PromiseRateLimit:
		present, problems := readQuotas(o)
		return present || len(problems) > 0
	case check.PromiseProblem:
		present, _ := readProblem(o)
		return present
	default:
		return false
	}
}

// unpromised is the verdict of a claim on what none of n answers has, although nobody promised it: it does
// not count.
func unpromised(id string, p check.Promise, n int, noun, what string) check.Claim {
	return check.Claim{ID: id, Reason: check.NeedsFailed, Unpromised: p,
		Text: fmt.Sprintf("none of %s has %s, and it is not promised", plural(n, noun), what)}
}
