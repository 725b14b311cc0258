package check

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestOpeningsHoldThoseOfARightLimiter: windows that requests open begin inside the intervals reported for
// them, whatever the latency.
func TestOpeningsHoldThoseOfARightLimiter(t *testing.T) {
	limit, err := spec.Parse("fixed-window,rate=4/100ms,align=first")
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	state, open := limiter.Init(), time.Duration(-time.Hour)
	var begun []time.Duration
	var obs []timeline.Observation
	for i := range 60 {
		decided := time.Duration(i*i*7%97)*time.Millisecond/8 + time.Duration(i)*17*time.Millisecond
		var got reference.Decision
		if state, got = limiter.Step(state, decided, 1); got.Allow && decided >= open+100*time.Millisecond {
			open = decided
			begun = append(begun, open)
		}
		o := timeline.Observation{Outcome: timeline.Denied, Answered: true,
			Arrival: timeline.Arrival{Seq: i, Cost: 1},
			Sent:    decided - time.Millisecond, FirstByte: decided + time.Millisecond}
		if got.Allow {
			o.Outcome = timeline.Allowed
		}
		obs = append(obs, o)
	}
	spans := Openings(limit[0], timeline.Header{}, obs, 2*time.Second)
	if len(spans) < 5 || len(spans) > len(begun) {
		t.Fatalf("got %d windows, want about %d", len(spans), len(begun))
	}
	for i, o := range spans {
		if begun[i] < o.From || begun[i] > o.To {
			t.Errorf("window %d began at %v, got %v", i, begun[i], o)
		}
	}
	if got := Openings(limit[0], timeline.Header{CompleteFrom: 1}, obs, 2*time.Second); got != nil {
		t.Errorf("requests are missing: got %v, want nothing", got)
	}
}

func TestWindowsOfAPolicy(t *testing.T) {
	started := time.Date(2026, 11, 20, 10, 0, 0, 420_000_000, time.UTC)
	ms := time.Millisecond
	for _, c := range []struct {
		spec     string
		known    bool
		anywhere bool
		from, to time.Duration
	}{
		{"fixed-window,rate=8/2s", true, false, -920 * ms, 80 * ms}, // 420 ms into a window
		{"fixed-window,rate=8/700ms,phase=200ms..260ms", true, false, 200 * ms, 260 * ms},
		{"fixed-window,rate=8/1s", true, true, 0, 1000*ms - 1}, // the clock may be off by half
		{"sliding-window-counter,rate=8/700ms,align=unknown", true, true, 0, 700*ms - 1},
		{"fixed-window,rate=8/700ms,align=first", false, false, 0, 0},
		{"fixed-window,rate=8/600ms..700ms", false, false, 0, 0},
		{"sliding-window-log,rate=8/700ms", false, false, 0, 0},
	} {
		limit, err := spec.Parse(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		w, ok := WindowsOf(limit[0], timeline.Header{Started: started, WallError: 500 * ms})
		if want := (Span{c.from, c.to}); ok != c.known || w.Begin != want || ok &&
			w.Anywhere() != c.anywhere {
			t.Errorf("%s: got %v %v, want %v %v", c.spec, ok, w, c.known, want)
		}
	}
}
