package trial

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// judgement fills the verdict of a recording of s into out.
type judgement func(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline)

// slewing is how much faster or slower the clock of another machine may run than ours while both are being
// set right, in parts per million. NTP slews each by up to 500.
const slewing = otherDrift + 2*500

// doubt judges a failing recording again by the clocks that a right target may have where ends are. What does
// not fail with such a clock becomes Inconclusive.
func doubt(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline, ends *endpoints,
	judge judgement) {
	if ends.assumed {
		doubtClock(out, s, tl, judge)
	}
	doubtDrift(out, s, tl, judge)
	if ends.local { // the embedded target reads its clock when it decides
		doubtTick(out, s, tl, judge)
	}
}

// doubtDrift doubts a failure that clocks explain which were being set right. No fault is as small as that,
// so nobody knows what it was.
func doubtDrift(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline, judge judgement) {
	header := tl.Header
	if out.Verdict != verdict.Fail || header.DriftPPM == 0 {
		return
	}
	header.DriftPPM = slewing
	if excused(out, s, tl, header, judge) {
		doubted(out, tl, verdict.TooFew, fmt.Sprintf("nothing fails if one clock is %d ppm faster than the "+
			"other, and NTP may be setting one right", slewing))
	}
}

// excused tells whether a failing recording does not fail with another header. It leaves that verdict in out
// and the header in tl, or else those before.
func excused(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline, header timeline.Header,
	judge judgement) bool {
	first, was := *out, tl.Header
	tl.Header, out.Claims = header, nil
	judge(out, s, tl)
	if out.Verdict == verdict.Fail {
		*out, tl.Header = first, was
		return false
	}
	return true
}

// doubted makes an excused failure Inconclusive.
func doubted(out *result.Scenario, tl *timeline.Timeline, reason verdict.Reason, why string) {
	tl.Header.Notes = append(tl.Header.Notes, why)
	out.Header = tl.Header
	*out = inconclusive(*out, reason, why)
}
