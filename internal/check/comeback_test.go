package check

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestOnlyAForgottenQuotaThatCannotBeExplainedIsSeen: a right limiter answers bursts of twice its quota, with
// an event before each but the first. A limiter that forgets its clients admits one quota each time. A window
// that may begin anywhere explains two of them, and no window explains three.
func TestOnlyAForgottenQuotaThatCannotBeExplainedIsSeen(t *testing.T) {
	const (
		hidden  = "fixed-window,rate=10/10s,align=unknown"
		batches = "token-bucket,rate=1/s,burst=10,refill=interval,fill=10"
	)
	once, twice := []timeline.Action{timeline.Restart}, []timeline.Action{timeline.Restart, timeline.Restart}
	both := []timeline.Action{timeline.Restart, timeline.Reload}
	for name, x := range map[string]struct {
		limit  string
		events []timeline.Action
		seen   bool
	}{
		"one event, windows of a clock": {"fixed-window,rate=10/10s", once, true},
		"one event, a bucket":           {"token-bucket,rate=1/s,burst=10", once, true},
		"one event, hidden windows":     {hidden, once, false},
		"one event, a hidden timer":     {"fixed-window,rate=10/10s,align=shared", once, false},
		"one event, hidden batches":     {batches, once, false},
		"two events, hidden windows":    {hidden, twice, true},
		"two events, hidden batches":    {batches, twice, true},
		"two kinds, hidden windows":     {hidden, both, false},
		"two kinds, windows of a clock": {"fixed-window,rate=10/10s", both, true},
		"a new bucket is empty":         {"token-bucket,rate=1/s,burst=10,start=empty", once, false},
		"two limits, a known slow one":  {"gcra,rate=99/s,burst=9 + fixed-window,rate=9/10s", once, true},
	} {
		t.Run(name, func(t *testing.T) {
			limit, err := spec.Parse(x.limit)
			if err != nil {
				t.Fatal(err)
			}
			target, err := reference.NewLimit(limit)
			if err != nil {
				t.Fatal(err)
			}
			tl := &timeline.Timeline{}
			tl.Header.Started = time.Unix(1000, 0)
			state := target.Init()
			for i := range 20 * (len(x.events) + 1) {
				burst := i / 20
				at := time.Duration(burst)*100*time.Millisecond + time.Duration(i%20)*time.Microsecond
				if i%20 == 0 && burst > 0 {
					tl.Header.Judged.Breaks = append(tl.Header.Judged.Breaks,
						timeline.Break{Event: x.events[burst-1], From: at, To: at})
				}
				var d reference.Decision
				state, d = target.Step(state, at, 1)
				o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, At: at, Cost: 1, Partition: "p"},
					Sent: at, FirstByte: at + 1, Answered: true, Outcome: timeline.Denied}
				if d.Allow {
					o.Outcome = timeline.Allowed
				}
				tl.Observations = append(tl.Observations, o)
			}
			j, err := Judge(tl, limit, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if j.Verdict != result.Pass {
				t.Fatalf("%s: %+v", j.Verdict, j.Partitions)
			}
			if p := j.Partitions[0]; !p.Returned || p.Remembered != x.seen {
				t.Errorf("returned: %v, seen: %v, want seen: %v", p.Returned, p.Remembered, x.seen)
			}
		})
	}
}
