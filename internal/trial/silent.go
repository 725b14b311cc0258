package trial

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// fewestSilent is the fewest unanswered requests that count as a way to deny. Fewer may be lost on the way.
const fewestSilent = 5

// answered finds a target that denies by not answering. Nothing was denied. The recording keeps the limit if
// the unanswered requests count as denials, and breaks it if they count as admissions.
//
//	sent      1 2 3 ... 20 | 21 22 23 ... 40
//	answered  admitted     | no answer          a burst of 20
//
// Requests that the network loses are lost while quota is left, too. As denials they would contradict the
// limit, so nothing is found. A target that serves one client at a time lets others wait until they are given
// up. Its slowest answers take so long that admissions as slow would not contradict the limit. ok is false if
// nothing is found.
func answered(tl *timeline.Timeline, s *scenario.Scenario) (c result.Claim, ok bool) {
	unsent := tl.Header.Unsent
	tl = tl.Beginning()
	lost, slowest := 0, time.Duration(0)
	for i := range tl.Observations {
		o := &tl.Observations[i]
		switch {
		case o.Origin:
		case !o.Answered && timeline.NoAnswer(o.Error):
			lost++
		case o.Outcome == timeline.Allowed:
			slowest = max(slowest, o.FirstByte-o.Sent)
		default: // an answered denial, or another kind of answer or loss
			return c, false
		}
	}
	shown := slowest > 0 && lost >= fewestSilent && unsent == 0
	judged := s.Expect.Conformance != scenario.NoConformance && !s.Limit.Completes()
	if !shown || !judged || s.Denied.Unanswered {
		return c, false
	}
	if heard(tl, s, timeline.Denied, s.Target.Timeout) != result.Pass ||
		heard(tl, s, timeline.Allowed, slowest) != result.Fail {
		return c, false
	}
	return claim.Unheard(tl, s.Limit.String()), true
}

// heard is the verdict on tl if its unanswered requests had this outcome within a time.
func heard(tl *timeline.Timeline, s *scenario.Scenario, outcome timeline.Outcome,
	within time.Duration) result.Verdict {
	all := &timeline.Timeline{Header: tl.Header, Observations: slices.Clone(tl.Observations)}
	for i := range all.Observations {
		o := &all.Observations[i]
		if !o.Answered && !o.Origin {
			o.Answered, o.Outcome, o.FirstByte = true, outcome, min(o.Sent+within, tl.End())
		}
	}
	c, _ := conformance(all, s, check.Options{Conformance: result.Exact, Shared: s.Shared(),
		SkipMeasure: true})
	return c.Verdict
}

// doubtAnswers makes a FAIL Inconclusive if the limiter may have admitted requests that do not show as such.
// Answers from a cache are the reason of what is open.
func doubtAnswers(out *result.Scenario) {
	blameCache(out)
	if why := result.ForeignDetail(out.Header.Notes); why != "" && out.Verdict == result.Fail {
		*out = inconclusive(*out, result.UnclassifiedStatus, why)
		out.Claims, out.Judgement = nil, nil
	}
}
