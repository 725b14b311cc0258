package trial

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// fewestSilent is the fewest unanswered requests that count as a way to deny. Fewer may be lost on the way.
const fewestSilent = 5

// answered finds a target that denies by not answering. Nothing was denied, and the recording keeps the limit
// if the unanswered requests count as denials.
//
//	sent      1 2 3 ... 20 | 21 22 23 ... 40
//	answered  admitted     | no answer          a burst of 20
//
// Requests that the network loses are lost while quota is left, too. As denials they would contradict the
// limit, so nothing is found. ok is false if nothing is found.
func answered(tl *timeline.Timeline, s *scenario.Scenario) (c verdict.Claim, ok bool) {
	unsent := tl.Header.Unsent
	tl = tl.Beginning()
	lost, admitted := 0, false
	for i := range tl.Observations {
		o := &tl.Observations[i]
		switch {
		case o.Origin:
		case !o.Answered && timeline.NoAnswer(o.Error):
			lost++
		case o.Outcome == timeline.Allowed:
			admitted = true
		default: // an answered denial, or another kind of answer or loss
			return c, false
		}
	}
	shown := admitted && lost >= fewestSilent && unsent == 0
	judged := s.Expect.Conformance != scenario.NoConformance && !s.Limit.Completes()
	if !shown || !judged || s.Denied.Unanswered {
		return c, false
	}
	silent := &timeline.Timeline{Header: tl.Header, Observations: slices.Clone(tl.Observations)}
	for i := range silent.Observations {
		o := &silent.Observations[i]
		if !o.Answered && !o.Origin {
			o.Answered, o.Outcome, o.FirstByte = true, timeline.Denied, min(o.Sent+s.Target.Timeout, tl.End())
		}
	}
	o := check.Options{Conformance: verdict.Exact, Shared: s.Shared(), SkipMeasure: true}
	if c, _ := conformance(silent, s, o); c.Verdict != verdict.Pass {
		return verdict.Claim{}, false
	}
	return claim.Unheard(tl, s.Limit.String()), true
}

// doubtAnswers makes a FAIL Inconclusive if the limiter may have admitted requests that do not show as such.
// Answers from a cache are the reason of what is open.
func doubtAnswers(out *result.Scenario) {
	blameCache(out)
	if why := result.ForeignDetail(out.Header.Notes); why != "" && out.Verdict == verdict.Fail {
		*out = inconclusive(*out, verdict.UnclassifiedStatus, why)
		out.Claims, out.Judgement = nil, nil
	}
}
