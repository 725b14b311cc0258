package result

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestClientsAddUp: the requests of each client are counted apart. The client that was denied most comes
// first.
func TestClientsAddUp(t *testing.T) {
	var tl timeline.Timeline
	add := func(who string, o timeline.Outcome, at time.Duration) {
		tl.Observations = append(tl.Observations,
			timeline.Observation{Arrival: timeline.Arrival{Partition: who},
				FirstByte: at, Answered: true, Outcome: o})
	}
	add("a", timeline.Allowed, 1)
	add("b", timeline.Denied, 9)
	add("b", timeline.Denied, 4)
	add("b", timeline.Unknown, 12)
	add("c", timeline.Allowed, 2)
	add("c", timeline.Allowed, 3)
	got := ClientsOf(&tl)
	first, last := time.Duration(4), time.Duration(9)
	want := []Client{{Partition: "b", Sent: 3, Denied: 2, Unknown: 1, FirstDenial: &first, LastDenial: &last,
		DenialShare: 1},
		{Partition: "c", Sent: 2, Allowed: 2}, {Partition: "a", Sent: 1, Allowed: 1}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("clients (-want +got):\n%s", d)
	}
}
