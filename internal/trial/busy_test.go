package trial

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestABusyMachineIsNoProof: where this machine stood still near the witness, a burst that an old clock
// explains is recorded again. One that no clock explains stays a FAIL, and so does one far from the stall.
func TestABusyMachineIsNoProof(t *testing.T) {
	var burst *scenario.Scenario
	for _, s := range bundled(t, scenario.ParseOptions{}, "burst") {
		if s.ID == "burst" {
			burst = s
		}
	}
	for _, row := range []struct {
		name, fault string
		late        time.Duration
		far         bool
		want        result.Verdict
	}{
		{"one too many, late by 20 ms", "burst-off-by-one", 20 * time.Millisecond, false,
			result.Inconclusive},
		{"one too many, in time", "burst-off-by-one", 0, false, result.Fail},
		{"one too many, late by 1 ms", "burst-off-by-one", time.Millisecond, false, result.Fail},
		{"one too many, late afterwards", "burst-off-by-one", 20 * time.Millisecond, true, result.Fail},
		{"no limit at all, late by 20 ms", "burst-ignored", 20 * time.Millisecond, false, result.Fail},
	} {
		out := against(t, burst, row.fault)
		if out.Verdict != result.Fail {
			t.Fatalf("%s: got %s, want a FAIL to begin with", row.name, out.Verdict)
		}
		text, tick := out.Claims[0].Text, out.Timeline.Header.Tick
		changed := 0
		for i := range out.Timeline.Observations {
			o := &out.Timeline.Observations[i]
			if far := o.Sent > out.Claims[0].Findings[0].To; far == row.far {
				o.At = o.Sent - row.late
				changed++
			}
		}
		if changed == 0 {
			t.Fatalf("%s: no request is there to be late", row.name)
		}
		doubt(&out, burst, out.Timeline, &endpoints{local: true}, Judge)
		switch {
		case out.Verdict != row.want:
			t.Errorf("%s: got %s, want %s: %s", row.name, out.Verdict, row.want, explain(out))
		case row.want == result.Fail && (out.Claims[0].Text != text || out.Timeline.Header.Tick != tick):
			t.Errorf("%s: got %q with a tick of %s, want what it was before", row.name, out.Claims[0].Text,
				out.Timeline.Header.Tick)
		case row.want != result.Fail && (out.Reason != result.ScheduleMissed ||
			!strings.Contains(out.Detail, "20.0 ms") || out.Header.Tick != 2*row.late):
			t.Errorf("%s: got %s: %s", row.name, out.Reason, out.Detail)
		}
	}
}

// TestAClockThatLostTimeIsNoProof: where this machine stood still again and again, a server's clock may have
// left out that time. It explains denials, but no admission too many.
func TestAClockThatLostTimeIsNoProof(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	const bucket = "token-bucket,rate=100/s,burst=20"
	for _, row := range []struct {
		name, limit, scenario, fault string
		stall                        time.Duration
		want                         result.Verdict
	}{
		{"units come late, stalls of 60 ms", bucket, "sustained", "ticks-lost", 60 * time.Millisecond,
			result.Inconclusive},
		{"and the SPEC names a clock", bucket + ",tick=2ms", "sustained", "ticks-lost",
			60 * time.Millisecond, result.Inconclusive},
		{"units come late, stalls of 40 ms", bucket, "sustained", "ticks-lost", 40 * time.Millisecond,
			result.Fail},
		{"too many after a rest", bucket, "recovery", "cap-not-applied", 60 * time.Millisecond, result.Fail},
	} {
		s := bundled(t, scenario.ParseOptions{Limit: row.limit}, row.scenario)[0]
		out := against(t, s, row.fault)
		if out.Verdict != result.Fail {
			t.Fatalf("%s: got %s, want a FAIL to begin with", row.name, out.Verdict)
		}
		for from := time.Duration(0); from < 1500*time.Millisecond; from += row.stall {
			out.Timeline.Header.Stalls = append(out.Timeline.Header.Stalls,
				timeline.Stall{From: from, To: from + row.stall})
		}
		text, judged := out.Claims[0].Text, out.Timeline.Header.Judged
		doubt(&out, s, out.Timeline, &endpoints{local: true}, Judge)
		switch {
		case out.Verdict != row.want:
			t.Errorf("%s: got %s, want %s: %s", row.name, out.Verdict, row.want, explain(out))
		case row.want == result.Fail && (out.Claims[0].Text != text ||
			!reflect.DeepEqual(out.Timeline.Header.Judged, judged)):
			t.Errorf("%s: got %q, judged %v; want what it was before", row.name, out.Claims[0].Text,
				out.Timeline.Header.Judged)
		case row.want != result.Fail && (out.Reason != result.ScheduleMissed ||
			!strings.Contains(out.Detail, "in all, and the clock of a server") ||
			strings.Contains(out.Header.Judged.Limits[0].Limit, "tick=2ms")):
			t.Errorf("%s: got %s: %s", row.name, out.Reason, out.Detail)
		}
	}
}
