package claim

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/claim/answer"
	"github.com/rlcheck/rlcheck/internal/claim/finding"
	"github.com/rlcheck/rlcheck/internal/claim/phrase"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

const notLongerID = string(verdict.ClaimRetryAfterNotLonger)

// notLonger judges that nobody is told to wait longer than the limit can need, rounded up to the second; the
// date form may round up once more, because the Date it counts from is cut to the second, and that Date may
// be old, see answer.StaleDate.
func (r *recording) notLonger(*Expect) verdict.Claim {
	if len(r.limit) == 0 {
		return verdict.Claim{ID: notLongerID, Reason: verdict.NeedsFailed,
			Text: "how long a wait is needed follows from a limit, and none is declared"}
	}
	denials := answer.Denied(r.target)
	var findings []verdict.Finding
	judged, late := 0, 0
	for _, d := range denials {
		t, ok := answer.Told(d)
		if !ok {
			continue
		}
		need, ok := r.longestNeed(d, t)
		if !ok {
			continue
		}
		judged++
		if t.For > need {
			if late++; late <= finding.Most {
				findings = append(findings, tooLong(d, t, need, r.waits()[d.Seq]))
			}
		}
	}
	switch {
	case judged == 0 && len(denials) == 0:
		return finding.TooFew(notLongerID, "no request was denied")
	case judged == 0 && r.lacks(verdict.PromiseRetryAfter):
		return unpromised(notLongerID, verdict.PromiseRetryAfter, len(denials), "denial", "a Retry-After")
	case judged == 0:
		return finding.TooFew(notLongerID,
			fmt.Sprintf("none of %s has a Retry-After that can be checked",
				phrase.Plural(len(denials), "denial")))
	case late > 0:
		return finding.Settle(notLongerID,
			fmt.Sprintf("%d of %s told a longer wait than the limit can need%s",
				late, phrase.Plural(judged, "denial"), finding.Shown(late)), findings)
	default:
		return finding.Settle(notLongerID, fmt.Sprintf("%s told no longer wait than the limit can need",
			phrase.Plural(judged, "denial")), nil)
	}
}

// longestNeed returns the longest wait that d may tell in the notation of t: the longest true wait rounded up
// to whole seconds, and two more for a date. A denial always waits for something, so at least 1 s. ok is
// false where no wait is known to be long enough.
func (r *recording) longestNeed(d *timeline.Observation, t answer.Wait) (need time.Duration, ok bool) {
	wait, ok := r.waits()[d.Seq]
	if !ok || wait == reference.Never {
		return 0, false
	}
	need = max(time.Second, add(wait, time.Second-1).Truncate(time.Second))
	if t.IsDate {
		need = add(need, time.Second+answer.StaleDate)
	}
	return need, true
}

// tooLong is the finding of a denial that told a longer wait than needed.
func tooLong(d *timeline.Observation, t answer.Wait, need, wait time.Duration) verdict.Finding {
	return finding.Witness(verdict.Finding{
		Kind: verdict.RetryAfterLate, Seen: int64(t.For), Bound: int64(need),
		Text: fmt.Sprintf("#%d was denied with %s (sent %s, first byte %s); at most %s could be needed, so "+
			"it may tell at most %d s",
			d.Seq, t, phrase.Seconds(d.Sent, time.Millisecond), phrase.Seconds(d.FirstByte, time.Millisecond),
			phrase.Seconds(wait, time.Microsecond), need/time.Second),
	}, d)
}

// add returns a + b, or the largest duration where that overflows. Neither may be negative.
func add(a, b time.Duration) time.Duration {
	if a > reference.Never-b {
		return reference.Never
	}
	return a + b
}
