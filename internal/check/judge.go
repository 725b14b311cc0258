package check

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/reference"
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
	if j.Verdict != result.Fail && !c.Limit.Cleared() {
		c.tellApart(j.Partitions, excerptsOf(c.Parts))
	}
	if c.O.Hint {
		j.Diagnosis = diagnose(c.Rec, limit, j, c.O)
		if j.Verdict == result.Fail && j.Diagnosis == nil {
			q := &inquiry{of: []evidence{{rec: c.Rec, o: c.O}}, left: hintWork}
			j.Explanations, j.Hint = q.explain(limit)
		}
	}
	return j
}

// fewBoxes is how many boxes of phases a short search asks.
const fewBoxes = 100

// boxesOf is how many boxes Refuted asks of a policy. Who asks about ranges divides them. Where windows begin
// at a known time their parts refute hardly more, and elsewhere a third of the boxes does.
func boxesOf(p spec.Policy) int {
	switch {
	case !limiter.Ranged(p):
		return fewBoxes
	case p.Align == spec.AlignFirst:
		return 1
	}
	return fewBoxes / 3
}

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
	c.Quick, c.BoundsOnly, c.Few, c.ask = true, !search, boxesOf(limit[0]), &limiter.Scratch{}
	return c.refuted(), nil
}

// refuted tells whether anything refutes the limit. Partitions that share no phase are judged one after the
// other, the last first, until one refutes it.
func (c *Case) refuted() bool {
	box, shared := PhasesOf(c.Limit[0], c.Rec.Header)
	failed := func(p *Part) bool { return len(p.Findings) > 0 }
	if len(c.Limit) > 1 || limiter.Anchored(c.Limit[0]) || shared && box.From != box.To {
		c.Judge()
		return slices.ContainsFunc(c.Parts, failed)
	}
	for i := len(c.Parts) - 1; i >= 0; i-- {
		if c.judgeGroup(c.Parts[i:i+1], box); failed(c.Parts[i]) {
			return true
		}
	}
	return false
}

// Jointly returns the history of a partition under all policies together. Its events begin when they were
// sent. They end and are complete when all of the policies say so. The clock of each policy may lag (Lags).
func (c *Case) Jointly(p *Part) *history.History {
	if p.joint != nil {
		return p.joint
	}
	lags, longest := make([]int64, len(p.Histories)), int64(0)
	same := true
	for i, h := range p.Histories {
		lags[i], longest, same = h.Lag, max(longest, h.Lag), same && h == p.Histories[0]
	}
	switch {
	case same && longest == 0:
		p.joint = p.Histories[0]
		return p.joint
	case same:
		p.joint = p.Histories[0].Punctual()
	default:
		p.joint = c.together(p, longest)
	}
	p.joint.Lags = lags
	return p.joint
}

// together makes the joint history of policies whose clocks or holds differ. longest is the longest of their
// lags.
func (c *Case) together(p *Part, longest int64) *history.History {
	w := history.Widen(c.Rec.Header, 0, true)
	var stays []history.Stay
	for _, pol := range c.Limit {
		stays = append(stays, history.StayOf(pol))
	}
	h := history.New(p.Obs, w, c.End, stays...)
	if c.Edges == nil {
		return h
	}
	h.Shift(-longest)
	h.All = c.Edges.Trim(h.All)
	h.Shift(longest)
	return h
}
