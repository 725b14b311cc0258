package claim

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/claim/phrase"
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
	if slices.Contains(r.promised, p) || !r.keepsFields() {
		return false
	}
	return !slices.ContainsFunc(r.target, func(o *timeline.Observation) bool { return shows(o, p) })
}

// Lacks tells whether e does not promise p, and no answer of tl shows it, not even a broken one.
func Lacks(tl *timeline.Timeline, e Expect, p verdict.Promise) bool {
	return newRecording(tl, nil, e, nil).lacks(p)
}

// keepsFields tells whether any answer of the target has fields: recordings from elsewhere may have none.
func (r *recording) keepsFields() bool {
	return slices.ContainsFunc(r.target, func(o *timeline.Observation) bool { return len(o.Fields) > 0 })
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

// unpromised is the verdict of a claim on what none of n answers has, although nobody promised it: it does
// not count.
func unpromised(id string, p verdict.Promise, n int, noun, what string) verdict.Claim {
	return verdict.Claim{ID: id, Reason: verdict.NeedsFailed, Unpromised: p,
		Text: fmt.Sprintf("none of %s has %s, and it is not promised", phrase.Plural(n, noun), what)}
}
