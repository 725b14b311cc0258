package trial

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// slewing is how much faster or slower the clock of another machine may run than ours while both are being
// set right, in parts per million. NTP slews each by up to 500.
const slewing = otherDrift + 2*500

// doubtDrift judges a failing recording again as if the clocks had been slewed. A Fail stays a Fail only if
// both judgements fail. No fault is as small as a slew, so otherwise nobody knows what it was.
func doubtDrift(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline, judge judgement) {
	drift := tl.Header.DriftPPM
	if out.Verdict != verdict.Fail || drift == 0 {
		return
	}
	first := *out
	tl.Header.DriftPPM, out.Claims = slewing, nil
	judge(out, s, tl)
	if out.Verdict == verdict.Fail {
		*out, tl.Header.DriftPPM = first, drift
		return
	}
	detail := fmt.Sprintf("the failures with a drift of up to %d ppm between the two clocks are none with %d "+
		"ppm, and NTP may be setting a clock right", drift, slewing)
	tl.Header.Notes = append(tl.Header.Notes, detail)
	out.Header = tl.Header
	*out = inconclusive(*out, verdict.TooFew, detail)
}
