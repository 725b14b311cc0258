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
func (r *Recording) notLonger() result.Claim {
	if len(r.Limit) == 0 {
		return result.Claim{ID: notLongerID, Reason: result.NeedsFailed,
			Text: "the wait that is needed follows from a limit, and no limit is declared"}
	}
	denials := Denied(r.Target)
	var findings []result.Finding
	judged, late := 0, 0
	for _, d := range denials {
		known, bad := false, false
		for _, t := range Waits(d) {
			need, ok := r.LongestNeed(d, t)
			if known = known || ok; !ok || t.For <= need || bad {
				continue
			}
			bad = true
			if late++; late <= MostFindings {
				wait, _ := r.LongestWait(d)
				findings = append(findings, tooLong(d, t, need, wait))
			}
		}
		if known {
			judged++
		}
	}
	chances := result.Of(judged, "denials whose wait was compared with the limit")
	switch {
	case judged == 0 && LacksFields(r, result.PromiseRetryAfter) && len(denials) > 0:
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
			"needed, so at most %s may be stated",
			d.Seq, t, Seconds(d.Sent, time.Millisecond), Seconds(d.FirstByte, time.Millisecond),
			Seconds(wait, time.Microsecond), statable(need)),
	}, d)
}

// statable prints the longest wait that may be stated, in whole seconds if it is so.
func statable(need time.Duration) string {
	if need%time.Second == 0 {
		return fmt.Sprintf("%d s", need/time.Second)
	}
	return Seconds(need, time.Millisecond)
}
