package claim

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/claim/answer"
	"github.com/rlcheck/rlcheck/internal/claim/fields"
	"github.com/rlcheck/rlcheck/internal/claim/finding"
	"github.com/rlcheck/rlcheck/internal/claim/phrase"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

const notLongerID = string(verdict.ClaimRetryAfterNotLonger)

// notLonger judges that nobody is told to wait longer than the limit can need, rounded up to the second. A
// date may round up once more, because the Date that it counts from is cut to the second. That Date may also
// be old (answer.StaleDate).
func (r *recording) notLonger(*Expect) verdict.Claim {
	if len(r.Limit) == 0 {
		return verdict.Claim{ID: notLongerID, Reason: verdict.NeedsFailed,
			Text: "the wait that is needed follows from a limit, and no limit is declared"}
	}
	denials := answer.Denied(r.Target)
	var findings []verdict.Finding
	judged, late := 0, 0
	for _, d := range denials {
		t, ok := answer.Told(d)
		if !ok {
			continue
		}
		need, ok := r.LongestNeed(d, t)
		if !ok {
			continue
		}
		judged++
		if t.For > need {
			if late++; late <= finding.Most {
				wait, _ := r.LongestWait(d)
				findings = append(findings, tooLong(d, t, need, wait))
			}
		}
	}
	chances := verdict.Of(judged, "denials whose wait was compared with the limit")
	switch {
	case judged == 0 && fields.Lacks(r.Recording, verdict.PromiseRetryAfter) && len(denials) > 0:
		return finding.Unpromised(notLongerID, verdict.PromiseRetryAfter, len(denials), "denial",
			"a Retry-After")
	default:
		return verdict.Settle(notLongerID,
			fmt.Sprintf("%d of %s stated a longer wait than the limit can need%s",
				late, quantity.Plural(judged, "denial"), finding.Shown(late)), chances, findings...)
	}
}

// tooLong returns the finding of a denial that states a longer wait than needed.
func tooLong(d *timeline.Observation, t answer.Wait, need, wait time.Duration) verdict.Finding {
	return finding.Witness(verdict.Finding{
		Kind: verdict.RetryAfterLate, Seen: int64(t.For), Bound: int64(need),
		Text: fmt.Sprintf("#%d was denied with %s (sent %s, first byte %s); at most %s could be "+
			"needed, so at most %d s may be stated",
			d.Seq, t, phrase.Seconds(d.Sent, time.Millisecond), phrase.Seconds(d.FirstByte, time.Millisecond),
			phrase.Seconds(wait, time.Microsecond), need/time.Second),
	}, d)
}
