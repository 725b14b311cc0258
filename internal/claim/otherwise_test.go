package claim

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestPhasesThatAnotherLimitCounts: of their answers nothing follows from the limit of the scenario.
func TestPhasesThatAnotherLimitCounts(t *testing.T) {
	limit, err := reference.Parse("token-bucket,rate=100/s,burst=20")
	if err != nil {
		t.Fatal(err)
	}
	tl := &timeline.Timeline{}
	for i := range 6 { // 1 each 10 s, burst 3
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1, Partition: "b", Phase: "login"}, Sent: time.Duration(i) * time.Millisecond,
			FirstByte: time.Duration(i)*time.Millisecond + 1, Answered: true, Status: 200, Outcome: timeline.Allowed}
		o.Fields = timeline.Fields{{Name: "X-Ratelimit-Remaining", Value: string(rune('0' + max(2-i, 0)))}}
		if i >= 3 {
			o.Status, o.Outcome = 429, timeline.Denied
			o.Fields = append(o.Fields, timeline.Field{Name: "Retry-After", Value: "10"})
		}
		tl.Observations = append(tl.Observations, o)
	}
	for name, otherwise := range map[string][]string{"another": {"login"}, "this": nil} {
		e := Expect{Quota: QuotaExpect{Counts: true, Fresh: true}, RetryAfter: RetryAfterExpect{NotLonger: true}, Otherwise: otherwise}
		failed := 0
		for _, c := range Judge(tl, limit, e) {
			if c.Verdict == check.Fail {
				failed++
			}
		}
		if failed > 0 != (otherwise == nil) {
			t.Errorf("%s limit: %d claims failed", name, failed)
		}
	}
}
