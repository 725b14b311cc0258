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
		quick   = "token-bucket,rate=100/s,burst=10"
		shared  = "fixed-window,rate=10/10s,align=shared"
		two     = "gcra,rate=99/s,burst=9 + fixed-window,rate=9/10s"
		spent   = "fixed-window,rate=10/10s,charge=completion,reserve=1"
	)
	once, twice := []timeline.Action{timeline.Restart}, []timeline.Action{timeline.Restart, timeline.Restart}
	both := []timeline.Action{timeline.Restart, timeline.Reload}
	for name, x := range map[string]struct {
		limit  string
		events []timeline.Action
		seen   bool
		far    time.Duration // how long an answer takes; over 1 ns the last requests of a burst come first
		held   time.Duration // how long an admitted request is in flight
	}{
		"one event, windows of a clock": {"fixed-window,rate=10/10s", once, true, 1, 0},
		"a bucket is full again":        {quick, once, false, 30 * time.Millisecond, 0},
		"so it is after two":            {quick, twice, false, 30 * time.Millisecond, 0},
		"one event, a bucket":           {"token-bucket,rate=1/s,burst=10", once, true, 1, 0},
		"one event, hidden windows":     {hidden, once, false, 1, 0},
		"one event, a hidden timer":     {shared, once, false, 1, 0},
		"one event, hidden batches":     {batches, once, false, 1, 0},
		"two events, hidden windows":    {hidden, twice, true, 1, 0},
		"two events, hidden batches":    {batches, twice, true, 1, 0},
		"two kinds, hidden windows":     {hidden, both, false, 1, 0},
		"two kinds, windows of a clock": {"fixed-window,rate=10/10s", both, true, 1, 0},
		"a new bucket is empty":         {"token-bucket,rate=1/s,burst=10,start=empty", once, false, 1, 0},
		"two limits, one is slow":       {two, once, true, 1, 0},
		"places that are in use":        {"concurrency,limit=10,hold=1s..", once, true, 1, time.Second},
		"places are free again":         {"concurrency,limit=10", once, false, 1, 50 * time.Millisecond},
		"a budget that is spent":        {spent, once, true, 1, 50 * time.Millisecond},
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
			state, before := target.Init(), time.Duration(0)
			for i := range 20 * (len(x.events) + 1) {
				burst := i / 20
				at := time.Duration(burst)*100*time.Millisecond + time.Duration(i%20)*time.Microsecond
				if i%20 == 0 && burst > 0 {
					tl.Header.Judged.Breaks = append(tl.Header.Judged.Breaks,
						timeline.Break{Event: x.events[burst-1], From: at, To: at})
				}
				for j := range tl.Observations { // in flight until now
					o := &tl.Observations[j]
					if o.Outcome == timeline.Allowed && o.Done <= at && o.Done > before {
						state = reference.Complete(target, state, o.Done, 1)
					}
				}
				before = at
				var d reference.Decision
				state, d = target.Step(state, at, 1)
				o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, At: at, Cost: 1, Partition: "p"},
					Sent: at, FirstByte: at + x.far, Answered: true, Outcome: timeline.Denied,
					Done: at + x.far + x.held}
				if d.Allow {
					o.Outcome = timeline.Allowed
				}
				tl.Observations = append(tl.Observations, o)
				if i%20 == 19 && x.far > 1 {
					for a, b := i-19, i; a < b; a, b = a+1, b-1 {
						all := tl.Observations
						all[a].Outcome, all[b].Outcome = all[b].Outcome, all[a].Outcome
					}
				}
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
