package check

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Twenty-one admissions at once, answered over 50 ms on a busy machine, in no order: the bound refutes a
// burst of twenty, and making its witness smaller must not set out on an exact search for each of them.
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
	c := newCase(tl, limit, Options{})
	pol := limit[0]
	found := newBound(pol, 0, 0).over(c.parts[0].histories[0])
	if found == nil {
		t.Fatal("got no breach, want one")
	}
	pr := c.newProof(c.parts[0], []*breach{found}, pol, phases{})
	if _, events := pr.fewest([]*breach{found}); pr.visits > 0 || len(events) != 21 {
		t.Errorf("got %d decisions tried for %d events, want none for 21", pr.visits, len(events))
	}
}
