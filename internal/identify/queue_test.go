package identify

import (
	"context"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Queues whose delays tell more than what they admit are named: of a rate that is not round, and of a part
// that does not wait, of which more pass while the first leave.
func TestQueuesAreNamedByTheirDelays(t *testing.T) {
	for text, seed := range map[string]uint64{
		"leaky-bucket-queue,rate=17/900ms,queue=17":           285,
		"leaky-bucket-queue,rate=8/400ms,queue=8,undelayed=4": 272,
	} {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		res := Identify(t.Context(), simulate(t, limit, seed), budget(limit))
		if res.Verdict != Identified {
			t.Errorf("%s: got %s, want it named", text, res.Summary())
			continue
		}
		right(t, limit, res)
		if got := res.Found[0].Limit[0].Undelayed; got != limit[0].Undelayed {
			t.Errorf("%s: got %d that do not wait", text, got)
		}
	}
}

// TestAQueueHasTheMiddleOfWhatIsLeft: the first of the times that the delays did not refute was 3 % off.
func TestAQueueHasTheMiddleOfWhatIsLeft(t *testing.T) {
	limit := parsed(t, "leaky-bucket-queue,rate=2/19s,queue=2")
	s := simulate(t, limit, 21)
	s.trip, s.jitter, s.lost = 80*time.Millisecond, 40*time.Millisecond, 0.05
	res := Identify(t.Context(), s, budget(limit))
	if res.Verdict != Identified {
		t.Fatalf("got %s, want it named", res.Summary())
	}
	right(t, limit, res)
}

// working is a target whose admitted requests take a while, after they were admitted.
type working struct{ *simulated }

func (s working) Send(ctx context.Context, p Phase) ([]timeline.Observation, error) {
	all, err := s.simulated.Send(ctx, p)
	for i := range all {
		if all[i].Outcome == timeline.Allowed {
			all[i].FirstByte += 90 * time.Millisecond
		}
	}
	return all, err
}

// Nothing waits in a queue without a place: one request at a time, which takes a while, is no queue.
func TestOneAtATimeIsNoQueue(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	limit := parsed(t, "leaky-bucket,rate=5/s,burst=1")
	res := Identify(t.Context(), working{simulate(t, limit, 1)}, budget(limit))
	if len(res.Found) == 0 || res.Found[0].Limit[0].Queued() {
		t.Errorf("got %s, want %s", res.Summary(), limit)
	}
}
