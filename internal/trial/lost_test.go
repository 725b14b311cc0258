package trial

import (
	"errors"
	"testing"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestALostRecordingCountsWhatWasSent: where the file of a long recording fails, its requests were sent all
// the same, nothing is known of their answers, and the reason is the file.
func TestALostRecordingCountsWhatWasSent(t *testing.T) {
	s := timeline.NewSpool(func() (timeline.Spill, error) { return nil, errors.New("no room") })
	const n = 100_000
	for i := range n {
		s.Add(&timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Outcome: timeline.Allowed})
	}
	tl := &timeline.Timeline{Header: timeline.Header{Unsent: 7, Judged: timeline.Terms{
		Limits: []timeline.PhaseLimit{{Limit: "token-bucket,rate=1/s,burst=1"}}}}, Spool: s}
	for range tl.All() {
		t.Fatal("a part of a recording was read as if it were all")
	}
	var out result.Scenario
	tally(&out, tl)
	if c := out.Counts; c.Planned != n+7 || c.Sent != n || c.Unknown != n || c.Unsent != 7 || c.Allowed != 0 {
		t.Errorf("got %+v, want %d requests that were sent", c, n)
	}
	if c, j := conformance(tl, nil, check.Options{}); j != nil || c.Reason != result.SetupFailed {
		t.Errorf("got %+v, %v, want setup-failed", c, j)
	}
}
