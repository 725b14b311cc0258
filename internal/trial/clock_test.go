package trial

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestClocksOfTargetsMayBeWrong: a limiter that counts 5 in each window of 4 s is right also if its clock is
// far from ours, as its Dates show. One that has the right time, or tells no other, is held to it. One that
// is near and has no Date may have either, where nobody says which.
func TestClocksOfTargetsMayBeWrong(t *testing.T) {
	const src = "id: x\ntitle: x\nkind: required\nlimit: \"fixed-window,rate=5/4s\"\nphases:\n  - {name: " +
		"a, shape: constant, rate: 5/s, duration: 11s}\n" +
		"expect: {resolution: {burst: none, rate: none}}\ntarget: {url: \"http://127.0.0.1:1000/\"}\n"
	s, err := scenario.Parse([]byte(src), "x.yaml", scenario.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const never, late = -30*365*24*time.Hour - 3777*time.Millisecond, -7201*time.Second - 300*time.Millisecond
	const tunnel = 400 * time.Millisecond
	for _, x := range []struct {
		name                string
		ahead, told, window time.Duration
		want                result.Verdict
		// clock is how far the clock may be in the end; 0 for as far as the Dates show.
		clock time.Duration
		// said is what the user says of it; dateless that no answer has a Date.
		said     time.Duration
		dateless bool
	}{
		{"the right time", 0, 0, 4 * time.Second, result.Pass, sameClock, 0, false},
		{"an old Date", 0, -900 * time.Millisecond, 4 * time.Second, result.Pass, sameClock, 0, false},
		{"no Date", 0, 0, 4 * time.Second, result.Pass, sameClock, 0, true},
		{"ahead", 65 * time.Second, 65 * time.Second, 4 * time.Second, result.Pass, 0, 0, false},
		{"behind", late, late, 4 * time.Second, result.Pass, 0, 0, false},
		{"never set", never, never, 4 * time.Second, result.Pass, 0, 0, false},
		{"ahead, and not told", 65 * time.Second, 0, 4 * time.Second, result.Fail, otherClock, 0, false},
		{"a tunnel to another clock", tunnel, tunnel, 4 * time.Second, result.Pass, otherClock, 0, false},
		{"the same without a Date", tunnel, 0, 4 * time.Second, result.Inconclusive, otherClock, 0, true},
		{"the same, said to be another", tunnel, 0, 4 * time.Second, result.Pass, otherClock, otherClock,
			true},
		{"the same, said to be ours", tunnel, 0, 4 * time.Second, result.Fail, sameClock, sameClock, true},
		{"too short windows", 65 * time.Second, 65 * time.Second, 2 * time.Second, result.Fail, 0, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := new(lab.PipeNetwork)
			counts := map[string]int{}
			_, stop, _ := n.Listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", time.Now().Add(x.told).UTC().Format(http.TimeFormat))
				if x.dateless {
					w.Header()["Date"] = nil
				}
				window := time.Now().Add(x.ahead).UnixNano() / int64(x.window)
				key := r.Header.Get("X-Api-Key") + time.Duration(window).String()
				if counts[key]++; counts[key] > 5 {
					w.WriteHeader(http.StatusTooManyRequests)
				}
			}))
			o := Options{ID: "m", Seed: 1, Embed: embedded, Network: n, Pacer: transport.SleepingPacer(),
				WallError: x.said}
			out := Scenario(context.Background(), s, o)
			_ = stop()
			time.Sleep(time.Minute) // lets what was on its way come to its end
			clock := out.Header.WallError
			if clock != sameClock && clock != otherClock {
				clock = 0
			}
			if out.Verdict != x.want || clock != x.clock {
				t.Errorf("%s: got %s with a clock known to %v, want %s: %s", x.name,
					out.Verdict, out.Header.WallError, x.want, explain(out))
			}
			if x.want == result.Inconclusive && !strings.Contains(out.Detail, "; perhaps ") {
				t.Errorf("%s: got %q, want what would explain it", x.name, out.Detail)
			}
		})
	}
}

// TestOtherLimitsAssumeNoClock: a limit without windows by the clock needs no assumption on the clock, so its
// recording makes none. Later it may be judged by the limit that the target really has.
func TestOtherLimitsAssumeNoClock(t *testing.T) {
	const src = "id: x\ntitle: x\nkind: required\nlimit: \"sliding-window-log,rate=5/4s\"\nphases:\n" +
		"  - {name: a, shape: constant, rate: 5/s, duration: 11s}\n" +
		"expect: {resolution: {burst: none, rate: none}}\ntarget: {url: \"http://127.0.0.1:1000/\"}\n"
	s, err := scenario.Parse([]byte(src), "x.yaml", scenario.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		n := new(lab.PipeNetwork)
		counts := map[string]int{}
		_, stop, _ := n.Listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Date"] = nil
			window := time.Now().Add(400*time.Millisecond).UnixNano() / int64(4*time.Second)
			key := r.Header.Get("X-Api-Key") + time.Duration(window).String()
			if counts[key]++; counts[key] > 5 {
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}))
		o := Options{ID: "m", Seed: 1, Embed: embedded, Network: n, Pacer: transport.SleepingPacer()}
		out := Scenario(context.Background(), s, o)
		_ = stop()
		time.Sleep(time.Minute) // lets what was on its way come to its end
		truth, err := spec.Parse("fixed-window,rate=5/4s")
		if err != nil {
			t.Fatal(err)
		}
		j, err := check.Judge(out.Timeline, truth, check.Options{})
		if err != nil || out.Verdict != result.Fail || j.Verdict != result.Pass {
			t.Errorf("got %s, and %s by the limit of the target (%v), want fail and pass: %s", out.Verdict,
				j.Verdict, err, explain(out))
		}
	})
}
