package trial

import (
	"cmp"
	"fmt"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// judgement fills the verdict of a recording of s into out.
type judgement func(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline)

// excuse is something that the clock of a right target may do, unseen by us: the terms to judge a failing
// recording by again.
type excuse struct {
	header timeline.Header
	as     *scenario.Scenario
	// If nothing fails by these terms, the failure becomes Inconclusive for reason, with why as its detail.
	// note stands in the header; empty: why.
	reason    result.Reason
	why, note string
	// certain: only an assumption stood against these terms, so their verdict stays, unless it is a Pass.
	certain bool
}

// excuses are looked for in this order. Each returns nil if it does not apply.
var excuses = []func(*result.Scenario, *scenario.Scenario, *timeline.Timeline, *endpoints) *excuse{
	ownClock, slewedClock, oldClock, lostTime,
}

// doubt judges a failing recording again by each excuse that a right target may have where ends are.
func doubt(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline, ends *endpoints,
	judge judgement) {
	for _, find := range excuses {
		if out.Verdict != result.Fail {
			return
		}
		x := find(out, s, tl, ends)
		if x == nil {
			continue
		}
		first, was := *out, tl.Header
		tl.Header, out.Claims = x.header, nil
		judge(out, x.as, tl)
		switch {
		case out.Verdict != result.Fail:
			tl.Header.Notes = append(tl.Header.Notes, cmp.Or(x.note, x.why))
			if out.Header = tl.Header; !x.certain || out.Verdict == result.Pass {
				*out = inconclusive(*out, x.reason, x.why)
			}
		case !x.certain:
			*out, tl.Header = first, was
		}
	}
}

// slewing is how much faster or slower the clock of another machine may run than ours while both are being
// set right, in parts per million. NTP slews each by up to 500.
const slewing = otherDrift + 2*500

// slewedClock excuses a failure that clocks explain which were being set right. No fault is as small as that,
// so nobody knows what it was.
func slewedClock(_ *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline, _ *endpoints) *excuse {
	x := &excuse{header: tl.Header, as: s, reason: result.TooFew, why: fmt.Sprintf("nothing fails if one "+
		"clock is %d ppm faster than the other, and NTP may be setting one right", slewing)}
	if x.header.DriftPPM == 0 {
		return nil
	}
	x.header.DriftPPM = slewing
	return x
}
