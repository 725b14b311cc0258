package trial

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// TestClocksOfTargetsMayBeWrong: a limiter that counts 5 in each window of 4 s is right also if its clock is far from ours, as its
// Dates show. One that has the right time, or tells no other, is held to it.
func TestClocksOfTargetsMayBeWrong(t *testing.T) {
	const src = "id: x\ntitle: x\nkind: required\nlimit: \"fixed-window,rate=5/4s\"\nphases:\n  - {name: a, shape: constant, rate: 5/s, duration: 11s}\n" +
		"expect: {resolution: {burst: none, rate: none}}\ntarget: {url: \"http://127.0.0.1:1000/\"}\n"
	s, err := scenario.Parse([]byte(src), "x.yaml", scenario.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const never = -30*365*24*time.Hour - 3777*time.Millisecond
	for _, x := range []struct {
		name                string
		ahead, told, window time.Duration
		want                check.Verdict
		assumed             bool
	}{
		{"the right time", 0, 0, 4 * time.Second, check.Pass, true},
		{"a Date that is kept for a second", 0, -900 * time.Millisecond, 4 * time.Second, check.Pass, true},
		{"ahead", 65 * time.Second, 65 * time.Second, 4 * time.Second, check.Pass, false},
		{"behind", -7201*time.Second - 300*time.Millisecond, -7201*time.Second - 300*time.Millisecond, 4 * time.Second, check.Pass, false},
		{"never set", never, never, 4 * time.Second, check.Pass, false},
		{"ahead, and not told", 65 * time.Second, 0, 4 * time.Second, check.Fail, true},
		{"ahead, and windows are too short", 65 * time.Second, 65 * time.Second, 2 * time.Second, check.Fail, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newPipeNet()
			counts := map[string]int{}
			_, stop, _ := n.Listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", time.Now().Add(x.told).UTC().Format(http.TimeFormat))
				window := time.Now().Add(x.ahead).UnixNano() / int64(x.window)
				key := r.Header.Get("X-Api-Key") + time.Duration(window).String()
				if counts[key]++; counts[key] > 5 {
					w.WriteHeader(http.StatusTooManyRequests)
				}
			}))
			out := Scenario(context.Background(), s, Options{ID: "m", Seed: 1, Network: n, Pacer: load.SleepPacer()})
			_ = stop()
			time.Sleep(time.Minute) // lets what was on its way come to its end
			if out.Verdict != x.want || (out.Header.WallError == otherClock) != x.assumed {
				t.Errorf("%s: got %s with a clock known to %v, want %s: %s", x.name, out.Verdict, out.Header.WallError, x.want, explain(out))
			}
		})
	}
}
