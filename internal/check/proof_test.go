package check

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/judge"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestWitnessOfACrowdIsCheap: twenty-one admissions were sent at once, and answered in no order over 50 ms,
// as on a busy machine. The bound refutes a burst of twenty. Making its witness smaller must not start an
// exact search for each request.
func TestWitnessOfACrowdIsCheap(t *testing.T) {
	tl := &timeline.Timeline{}
	for i := range 21 {
		tl.Observations = append(tl.Observations, timeline.Observation{
			Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: time.Duration(i) * 11 * time.Microsecond,
			FirstByte: 2*time.Millisecond + time.Duration(i*i*7919%50000)*time.Microsecond, Answered: true,
			Outcome: timeline.Allowed,
		})
	}
	limit, err := spec.Parse("leaky-bucket,rate=10/s,burst=20")
	if err != nil {
		t.Fatal(err)
	}
	c := judge.New(tl, limit, Options{})
	pol := limit[0]
	found := limiter.NewBound(pol, 0, 0).Over(c.Parts[0].Histories[0])
	if found == nil {
		t.Fatal("got no breach, want one")
	}
	pr := c.NewProof(c.Parts[0], []*limiter.Breach{found}, pol, history.Interval{})
	if _, events := pr.Fewest([]*limiter.Breach{found}); pr.Visits > 0 || len(events) != 21 {
		t.Errorf("got %d decisions tried for %d events, want none for 21", pr.Visits, len(events))
	}
}
