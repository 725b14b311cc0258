package check

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestTooCostlyRequestsAreDenied: a request that costs more than a full start admits is denied, whatever came
// before. One that costs just as much is not.
func TestTooCostlyRequestsAreDenied(t *testing.T) {
	for _, text := range []string{"token-bucket,rate=1/s,burst=5", "gcra,rate=1/s,burst=5",
		"leaky-bucket,rate=1/s,burst=5", "fixed-window,rate=5/1s", "sliding-window-log,rate=5/1s",
		"sliding-window-counter,rate=5/1s", "fixed-window,rate=5/1s,align=first",
		"fixed-window,rate=5/1s,align=first,count=all",
		"sliding-window-counter,rate=5/1s,align=first"} {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for cost, want := range map[int64]result.Verdict{5: result.Fail, 6: result.Pass,
			1_000_000: result.Pass} {
			tl := &timeline.Timeline{Observations: []timeline.Observation{{
				Arrival: timeline.Arrival{Cost: cost}, Sent: 50 * time.Millisecond,
				FirstByte: 51 * time.Millisecond, Answered: true,
				Status: 429, Outcome: timeline.Denied}}}
			j, err := Judge(tl, limit, Options{SkipMeasure: true})
			if err != nil || j.Verdict != want {
				t.Errorf("%s, a denial of cost %d: got %v, %v, want %s", text, cost, j.Verdict, err, want)
			}
		}
	}
}

// TestTooCostlyRequestsAreNotAllowed: a request that costs more than a full start admits is never allowed,
// wherever windows begin and however late its answer.
func TestTooCostlyRequestsAreNotAllowed(t *testing.T) {
	for _, text := range []string{"token-bucket,rate=1/s,burst=5", "token-bucket,rate=1/s,burst=5,count=all",
		"fixed-window,rate=5/1s", "fixed-window,rate=5/1s,align=first",
		"fixed-window,rate=5/1s,align=unknown", "fixed-window,rate=5/1s,phase=0s,count=all",
		"sliding-window-log,rate=5/1s", "sliding-window-counter,rate=5/1s",
		"sliding-window-counter,rate=5/1s,align=unknown", "sliding-window-counter,rate=5/1s,align=first",
		"token-bucket,rate=1/s,burst=9 + fixed-window,rate=5/1s,align=unknown"} {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for cost, want := range map[int64]result.Verdict{5: result.Pass, 6: result.Fail} {
			tl := &timeline.Timeline{Observations: []timeline.Observation{{
				Arrival: timeline.Arrival{Cost: cost}, Sent: 50 * time.Millisecond,
				FirstByte: 9 * time.Second, Answered: true,
				Status: 200, Outcome: timeline.Allowed}}}
			j, err := Judge(tl, limit, Options{SkipMeasure: true})
			if err != nil || j.Verdict != want {
				t.Errorf("%s, an admission of cost %d: got %v (%s), %v, want %s", text, cost, j.Verdict,
					j.Reason, err, want)
			} else if want == result.Fail {
				if got, text := j.Partitions[0].Findings[0].Text,
					"request #0 of cost 6 was allowed; a full start admits 5"; got != text {
					t.Errorf("%s: got %q, want %q", text, got, text)
				}
			}
		}
	}
}
