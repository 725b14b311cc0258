package trial

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// The clock of the embedded target is ours; any other one may run faster or slower, and the recording says by
// how much. What is reached on loopback may be at the other end of a tunnel.
func TestOtherMachinesHaveClocksOfTheirOwn(t *testing.T) {
	for url, want := range map[string]int64{
		scenario.Builtin: 0, "http://127.0.0.5:8080/": otherDrift, "http://[::1]/": otherDrift,
		"http://localhost:1/": otherDrift,
		"http://10.0.0.1/":    otherDrift, "http://192.0.2.1:8080/": otherDrift,
		"http://[2001:db8::1]/": otherDrift, "http://gateway.example/": otherDrift,
	} {
		s := parsed(t, "target: {url: \""+url+"\"}\nphases:\n  - {name: a, shape: at-once, requests: 1}\n")
		out := virtually(t, s) // of the others nobody is there
		if out.Timeline == nil || out.Timeline.Header.DriftPPM != want || out.Header.DriftPPM != want {
			t.Errorf("%s: got a drift of %d ppm, want %d: %s", url, out.Header.DriftPPM, want, explain(out))
		}
	}
}

// TestASlewedClockIsNoFault: while NTP sets two clocks right, one may run faster than the other by more than
// crystals do. A limiter by such a clock is right. A fault of a thousandth or more is none of a clock.
func TestASlewedClockIsNoFault(t *testing.T) {
	const src = "id: x\ntitle: x\nkind: required\nlimit: \"token-bucket,rate=100/s,burst=5\"\n" +
		"target: {url: \"http://127.0.0.1:1000/\"}\n" +
		"phases:\n  - {name: a, shape: constant, rate: 1.2x, duration: 60s}\n" +
		"expect: {resolution: {burst: none, rate: none}}\n"
	s, err := scenario.Parse([]byte(src), "x.yaml", scenario.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for ppm, want := range map[int64]result.Verdict{0: result.Pass, 150: result.Pass,
		700: result.Inconclusive, 1800: result.Fail} {
		synctest.Test(t, func(t *testing.T) {
			n, start := new(lab.PipeNetwork), time.Now()
			full := time.Duration(0) // when the bucket is full, by the clock of the target
			_, stop, _ := n.Listen(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				now := time.Since(start) + time.Since(start)*time.Duration(ppm)/1_000_000
				if full = max(full, now); full-now > 40*time.Millisecond {
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				full += 10 * time.Millisecond
			}))
			out := Scenario(context.Background(), s, Options{ID: "m", Seed: 1, Embed: embedded, Network: n,
				Pacer: transport.SleepingPacer()})
			_ = stop()
			time.Sleep(time.Minute) // lets what was on its way come to its end
			drift := map[bool]int64{true: slewing, false: otherDrift}[want == result.Inconclusive]
			if out.Verdict != want || out.Header.DriftPPM != drift {
				t.Errorf("%d ppm: got %s with a drift of %d, want %s: %s", ppm, out.Verdict,
					out.Header.DriftPPM, want, explain(out))
			}
		})
	}
}
