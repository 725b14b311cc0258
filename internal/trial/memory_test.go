package trial

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAnEventThatTakesLongShowsNothing: once the quota is back, nobody sees whether a restart gave it back.
func TestAnEventThatTakesLongShowsNothing(t *testing.T) {
	s := bundled(t, scenario.ParseOptions{Limit: "token-bucket,rate=10/s,burst=20"}, "restart")[0]
	for takes, want := range map[time.Duration]result.Verdict{
		5 * time.Millisecond: result.Pass, time.Second: result.Pass, 3 * time.Second: result.Inconclusive,
	} {
		tl := &timeline.Timeline{}
		seq := 0
		burst := func(phase string, at time.Duration, allowed int) {
			for i := range 40 {
				o := timeline.Observation{Arrival: timeline.Arrival{Seq: seq, Phase: phase, Partition: "k",
					At: at, Cost: 1}, Sent: at, FirstByte: at + time.Millisecond, Answered: true, Status: 429,
					Outcome: timeline.Denied}
				if i < allowed {
					o.Status, o.Outcome = 200, timeline.Allowed
				}
				seq++
				tl.Observations = append(tl.Observations, o)
			}
		}
		burst("spend", 0, 20)
		burst("again", takes, min(20, int(takes*10/time.Second)))
		var out result.Scenario
		Judge(&out, s, tl)
		if out.Verdict != want {
			t.Errorf("a restart of %s: got %s, want %s: %s", takes, out.Verdict, want, explain(out))
		}
	}
}
