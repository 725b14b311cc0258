package claim

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const notLongerID = string(result.ClaimRetryAfterNotLonger)

// notLonger judges that nobody is told to wait longer than the limit can need, rounded up to the second. A
// date may round up once more, because the Date that it counts from is cut to the second. That Date may also
// be old (StaleDate).
func (r *recording) notLonger(*Expect) result.Claim {
	if len(r.Limit) == 0 {
		return result.Claim{ID: notLongerID, Reason: result.NeedsFailed,
			Text: "the wait that is needed follows from a limit, and no limit is declared"}
	}
	denials := Denied(r.Target)
	var findings []result.Finding
	judged, late := 0, 0
	for _, d := range denials {
		t, ok := Told(d)
		if !ok {
			continue
		}
		need, ok := r.LongestNeed(d, t)
		if !ok {
			continue
		}
		judged++
		if t.For > need {
			if late++; late <= MostFindings {
				wait, _ := r.LongestWait(d)
				findings = append(findings, tooLong(d, t, need, wait))
			}
		}
	}
	chances := result.Of(judged, "denials whose wait was compared with the limit")
	switch {
	case judged == 0 && LacksFields(r.Recording, result.PromiseRetryAfter) && len(denials) > 0:
		return Unpromised(notLongerID, result.PromiseRetryAfter, len(denials), "denial",
			"a Retry-After")
	default:
		return result.Settle(notLongerID,
			fmt.Sprintf("%d of %s stated a longer wait than the limit can need%s",
				late, text.Plural(judged, "denial"), Shown(late)), chances, findings...)
	}
}

// tooLong returns the finding of a denial that states a longer wait than needed.
func tooLong(d *timeline.Observation, t Wait, need, wait time.Duration) result.Finding {
	return Witness(result.Finding{
		Kind: result.RetryAfterLate, Seen: int64(t.For), Bound: int64(need),
		Text: fmt.Sprintf("#%d was denied with %s (sent %s, first byte %s); at most %s could be "+
			"needed, so at most %d s may be stated",
			d.Seq, t, Seconds(d.Sent, time.Millisecond), Seconds(d.FirstByte, time.Millisecond),
			Seconds(wait, time.Microsecond), need/time.Second),
	}, d)
}
