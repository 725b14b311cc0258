package claim

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
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
	denials, opened := Denied(r.Target), r.openings()
	var findings []result.Finding
	judged, late := 0, 0
	for _, d := range denials {
		known, f := r.overlong(d, opened)
		if known {
			judged++
		}
		if f == nil {
			continue
		}
		if late++; late <= MostFindings {
			findings = append(findings, *f)
		}
	}
	chances := result.Of(judged, "denials whose wait was compared with the limit")
	if judged == 0 && r.untold(denials) && len(denials) > 0 {
		return Unpromised(notLongerID, result.PromiseRetryAfter, len(denials), "denial", "a Retry-After")
	}
	return result.Settle(notLongerID, fmt.Sprintf("%d of %s stated a longer wait than the limit can need%s",
		late, text.Plural(judged, "denial"), Shown(late)), chances, findings...)
}

// overlong returns the finding of a denial that states a longer wait than needed, or nil. A denial without a
// wait is judged by its resets. known: it could be judged.
func (r *Recording) overlong(d *timeline.Observation, opened map[string]span) (known bool,
	f *result.Finding) {
	waits := Waits(d)
	for _, t := range waits {
		need, ok := r.LongestNeed(d, t)
		if known = known || ok; !ok || t.For <= need || t.Loose && r.deniedAfter(d, t.For/1000) == nil {
			continue
		}
		wait, _ := r.LongestWait(d)
		return true, tooLong(d, t, need, wait)
	}
	if len(waits) > 0 {
		return known, nil
	}
	t, limit := teller{o: d}, r.LimitOf(d)
	at, _ := Date(d)
	t.quotas, _ = headers.Quotas(d.Fields.Get, at)
	for _, q := range t.quotas {
		if !q.HasReset || t.beside(q, limit) || len(limit) == 0 || limit.Completes() {
			continue
		}
		known = true
		f = r.wrongReset(d, q, limit, t.about(q, limit), opened)
		if f != nil && f.Kind == result.ResetLate {
			return true, f
		}
	}
	return known, nil
}

// tooLong returns the finding of a denial that states a longer wait than needed.
func tooLong(d *timeline.Observation, t headers.Wait, need, wait time.Duration) *result.Finding {
	f := Witness(result.Finding{
		Kind: result.RetryAfterLate, Seen: int64(t.For), Bound: int64(need),
		Text: fmt.Sprintf("#%d was denied with %s (sent %s, first byte %s); at most %s could be "+
			"needed, so at most %s may be stated",
			d.Seq, t, Seconds(d.Sent, time.Millisecond), Seconds(d.FirstByte, time.Millisecond),
			Seconds(wait, time.Microsecond), statable(need)),
	}, d)
	return &f
}

// statable prints the longest wait that may be stated, in whole seconds if it is so.
func statable(need time.Duration) string {
	if need%time.Second == 0 {
		return fmt.Sprintf("%d s", need/time.Second)
	}
	return Seconds(need, time.Millisecond)
}
