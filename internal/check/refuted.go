package check

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// fewBoxes is how many boxes of phases Refuted asks.
const fewBoxes = 100

// Refuted tells whether tl refutes every policy in the ranges of limit, on one side or on both (Exact).
// Without search it asks the bounds alone, which is fast. With search it also asks the exact search, cut
// short. So false proves nothing. The error says why limit cannot be judged on tl.
func Refuted(tl *timeline.Timeline, limit spec.Limit, side result.Conformance, search bool) (bool, error) {
	if _, err := reference.NewLimit(limit); err != nil {
		return false, fmt.Errorf("check: %w", err)
	}
	rec := history.RecordingOf(tl)
	if err := Fits(rec, limit); err != nil {
		return false, err
	}
	c := NewCase(rec, limit, Options{Conformance: side, SkipMeasure: true})
	c.Quick, c.BoundsOnly, c.Few = true, !search, fewBoxes
	c.Judge()
	return c.Judgement().Verdict == result.Fail, nil
}
