package trial

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/headers"
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

// seen is what one pass over a recording collects before the judge runs. A long recording is read only once
// for it.
type seen struct {
	clock reading
	// unknown counts the requests without an outcome.
	unknown int
}

// doubtCached sets the outcome of answers that came from a cache to Unknown. It adds notes about them, and
// about answers that may not be the limiter's. It returns what else it collected on the way.
func doubtCached(tl *timeline.Timeline, s *scenario.Scenario) (all seen) {
	var c headers.Caches
	var answers timeline.StatusTally
	for o := range tl.All() {
		result.DoubtCached(o, c.Gave)
		all.clock.add(tl, o)
		answers.Add(o)
		if o.Outcome == timeline.Unknown {
			all.unknown++
		}
	}
	tl.Header.Notes = result.NoteForeign(result.NoteCaches(tl.Header.Notes, c.Text()), answers.Statuses(),
		len(s.Allowed) > 0)
	if tl.Spool == nil || c.Hits == 0 {
		return all
	}
	again := new(headers.Caches) // what it counts is counted above
	doubt := func(o *timeline.Observation) { result.DoubtCached(o, again.Gave) }
	tl.Spool = tl.Spool.With(doubt)
	for i := range tl.Observations {
		doubt(&tl.Observations[i])
	}
	return all
}

// blameCache is BlameCache for a planned run, in which a limiter must deny. If a cache may hide all denials,
// a Pass becomes Inconclusive.
func blameCache(out *result.Scenario) {
	if out.FromCache() && out.Verdict == result.Pass && out.Counts.Denied == 0 {
		out.Verdict = result.Inconclusive
	}
	BlameCache(out)
}

// BlameCache gives answers from a cache as the reason (too-few) of an Inconclusive scenario.
func BlameCache(out *result.Scenario) {
	if out.FromCache() && out.Verdict == result.Inconclusive && !out.Uncounted() {
		out.Reason, out.Detail = result.TooFew, out.CacheDetail() // the mend of the report says how
	}
}
