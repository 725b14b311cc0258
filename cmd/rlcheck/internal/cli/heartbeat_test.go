package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/result"
)

// TestHeartbeatIsRare: a line comes after half a minute, none soon after it, and none when all is done.
func TestHeartbeatIsRare(t *testing.T) {
	var out bytes.Buffer
	start := time.Now()
	h := &Heartbeat{&Speaker{Err: &out}, start}
	var done []result.Scenario
	open := result.Inconclusive
	for i, v := range []result.Verdict{result.Pass, open, result.Pass, open} {
		done = append(done, result.Scenario{Verdict: v})
		if v == open {
			done[i].Reason = result.NeedsFailed
		}
		h.Tell(start.Add(time.Duration(i+1)*20*time.Second), done, 4)
	}
	if got, want := out.String(), "rlcheck: 2 of 4 scenarios are done: 1 PASS, 1 not judged\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var none *Heartbeat
	none.Tell(start.Add(time.Hour), done, 5) // where a meter is drawn
}

// TestHeartbeatSaysUntilWhen: a load that rests for minutes says how long it takes, unless that is not known.
func TestHeartbeatSaysUntilWhen(t *testing.T) {
	var out bytes.Buffer
	start := time.Now()
	h := &Heartbeat{&Speaker{Err: &out}, start}
	p := load.Progress{Sent: 3596, Planned: 4063}
	h.recording(start.Add(29*time.Second), "burst", p, time.Hour)
	h.recording(start.Add(30*time.Second), "burst", p, 4*time.Minute+time.Millisecond)
	h.recording(start.Add(70*time.Second), "burst", p, -time.Second)
	const want = "rlcheck: burst: 3,596 of at most 4,063 requests sent, 4m1s left by plan\n" +
		"rlcheck: burst: 3,596 of at most 4,063 requests sent\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
