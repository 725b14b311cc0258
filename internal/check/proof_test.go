package check

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/result"
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
	c := NewCase(history.RecordingOf(tl), limit, Options{})
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

// TestLargeWitnessIsCheap: the witness is 50,000 requests and a denial that they do not explain, or one
// admission too many. Making it smaller takes few judgements, and copies the witness only for these.
func TestLargeWitnessIsCheap(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	const n, most = 50_000, 512
	for _, quota := range []int{n + 2, n - 1} {
		tl := &timeline.Timeline{}
		for i := range n + 1 {
			at := time.Duration(i) * time.Microsecond
			tl.Observations = append(tl.Observations, timeline.Observation{Outcome: timeline.Allowed,
				Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at, Answered: true})
		}
		if quota > n {
			tl.Observations[n].Outcome = timeline.Denied
		}
		limit := mustLimit(t, fmt.Sprintf("sliding-window-log,rate=%d/1h", quota))
		c := NewCase(history.RecordingOf(tl), limit, Options{})
		found := JudgeOne(c.Parts[0].Histories[0], limiter.NewBound(limit[0], 0, 0), result.Exact)
		if found == nil {
			t.Fatalf("quota %d: got no breach, want one", quota)
		}
		pr := c.NewProof(c.Parts[0], []*limiter.Breach{found}, limit[0], history.Interval{})
		judged, judgeOf := 0, pr.Judge
		pr.Judge = func(h *history.History, steps int) ([]Refutation, int, bool) {
			judged += len(h.All)
			return judgeOf(h, steps)
		}
		before := allocated()
		_, events := pr.Fewest([]*limiter.Breach{found})
		if len(events) < n || judged > 1_100_000 {
			t.Errorf("quota %d: got %d requests from %d judged, want %d from at most a million", quota,
				len(events), judged, n)
		}
		if got := (allocated() - before) >> 20; got > most {
			t.Errorf("quota %d: allocated %d MB, want at most %d", quota, got, most)
		}
	}
}

// allocated returns how many bytes were allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
