package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Judge decides whether tl is feasible under limit: whether decision times inside the closed intervals exist,
// and an order along them, under which limit gives the observed outcomes. Window phases that are not known
// may be chosen too. tl.Observations ascend by Sent. The verdict is Fail only if none exist, and every Fail
// has a finding with its witness. It costs O(n log n) for known phases.
//
// Its error wraps ErrTooLarge if the arithmetic would overflow, or ErrUnsorted. Nothing is judged then.
func Judge(tl *timeline.Timeline, limit spec.Limit, o Options) (*result.Judgement, error) {
	if len(tl.Observations) > heldLimit {
		return inTurn(tl, limit, o)
	}
	rec := history.RecordingOf(tl)
	for i := range rec.Parts {
		p := &rec.Parts[i]
		p.Obs = slices.DeleteFunc(p.Obs, func(o history.Observation) bool {
			return excused(o.Outcome, o.Cost, limit)
		})
	}
	if err := Fits(rec, limit); err != nil {
		return nil, err
	}
	return explained(NewCase(rec, limit, o), limit), nil
}

// inTurn judges a recording that is too large to be judged at once.
func inTurn(tl *timeline.Timeline, limit spec.Limit, o Options) (*result.Judgement, error) {
	s := NewStream(limit, tl.Header, o)
	for i := range tl.Observations {
		if s.Observe(&tl.Observations[i]) != nil {
			break // Finish returns the error
		}
	}
	return s.Finish()
}

// explained judges, and looks for what explains a recording that fails. limit is as it was declared.
func explained(c *Case, limit spec.Limit) *result.Judgement {
	c.Judge()
	j := c.Judgement()
	if c.O.Hint {
		j.Diagnosis = diagnose(c.Rec, limit, j, c.O)
		if j.Verdict == result.Fail && j.Diagnosis == nil {
			q := &inquiry{of: []evidence{{rec: c.Rec, o: c.O}}, left: hintWork}
			j.Explanations, j.Hint = q.explain(limit)
		}
	}
	return j
}
