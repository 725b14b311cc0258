package reference

import (
	"fmt"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const ms = time.Millisecond

func mustLimit(t *testing.T, text string) spec.Limit {
	t.Helper()
	l, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// play plays phases under one limit, from the beginning of a day. An answer takes 1 ms.
func play(t *testing.T, limit string, phases ...timeline.Phase) *timeline.Timeline {
	t.Helper()
	l := mustLimit(t, limit)
	tl, err := Play(&timeline.Schedule{Phases: phases}, SimulationOptions{Answer: ms,
		Rule: func(string) SimulationRule { return SimulationRule{Limit: l} },
		Started: time.Date(2026, 1, 1, 0, 0, 0, 0,
			time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// at returns n arrivals, one each `every`.
func at(n int, every time.Duration) (out []timeline.Arrival) {
	for i := range n {
		out = append(out, timeline.Arrival{Partition: "k", Phase: "p", At: time.Duration(i) * every})
	}
	return out
}

// TestPlay: simple loads have the results that the definitions of the limits imply.
func TestPlay(t *testing.T) {
	rest := timeline.Phase{Name: "rest", Shape: timeline.Silence, Duration: time.Second}
	burst := timeline.Phase{Name: "p", Shape: timeline.AtOnce, Arrivals: at(30, 0)}
	clients := func(shape timeline.Shape, n int, d time.Duration) timeline.Phase {
		return timeline.Phase{Name: "p", Shape: shape, Clients: n, Partitions: []string{"k"},
			Requests: 1000, Duration: d}
	}
	retry := clients(timeline.Backoff, 1, 0)
	retry.Retry = timeline.Retry{Policy: timeline.RetryFixed, Base: 30 * ms}
	for _, x := range []struct {
		name, limit     string
		phases          []timeline.Phase
		allowed, denied int
	}{
		{"a full bucket", "token-bucket,rate=10/s,burst=20", []timeline.Phase{burst}, 20, 10},
		{"and what a second refills", "token-bucket,rate=10/s,burst=20",
			[]timeline.Phase{burst, rest, burst}, 30, 30}, // the answer's ms refills no unit
		{"windows of the clock begin with it", "fixed-window,rate=20/1s", []timeline.Phase{burst, rest,
			burst}, 40, 20},
		{"a queue", "leaky-bucket-queue,rate=10/s,queue=4", []timeline.Phase{burst}, 5, 25},
		{"requests in flight end after 1 ms", "concurrency,limit=2",
			[]timeline.Phase{{Name: "p", Arrivals: at(8, 250*time.Microsecond)}}, 4, 4},
		{"a client that waits for answers", "token-bucket,rate=10/s,burst=2",
			[]timeline.Phase{clients(timeline.Closed, 1, 100*ms)}, 2, 98},
		{"a client that waits as told, in whole seconds", "token-bucket,rate=10/s,burst=2",
			[]timeline.Phase{clients(timeline.HonorRetryAfter, 1, 1500*ms)}, 4, 2},
		{"a client that retries until it is admitted", "token-bucket,rate=10/s,burst=1",
			[]timeline.Phase{{Name: "p", Arrivals: at(1, 0)}, retry}, 2, 4},
	} {
		c := play(t, x.limit, x.phases...).Counts()
		if c.Allowed != x.allowed || c.Denied != x.denied {
			t.Errorf("%s: got %d allowed, %d denied, want %d, %d", x.name, c.Allowed, c.Denied, x.allowed,
				x.denied)
		}
	}
}

// TestBoundary: a boundary phase has its halves on both sides of a window's end.
func TestBoundary(t *testing.T) {
	for _, aim := range []timeline.Aim{timeline.AimClock, timeline.AimFirst, timeline.AimReset,
		timeline.AimProbe} {
		limit := "fixed-window,rate=20/1s"
		if aim == timeline.AimFirst {
			limit += ",align=first"
		}
		half := func(from time.Duration) (out []timeline.Arrival) {
			for range 19 {
				out = append(out, timeline.Arrival{Partition: "k", Phase: "p", At: from})
			}
			return out
		}
		p := timeline.Phase{Name: "p", Shape: timeline.Boundary, Aim: aim, Window: time.Second,
			Arrivals: append(half(-5*ms), half(5*ms)...)}
		tl := play(t, limit, timeline.Phase{Shape: timeline.Silence, Duration: 300 * ms}, p)
		if c := tl.Counts(); c.Denied != 0 {
			t.Errorf("%s: %d of %d requests denied: they are not on both sides of a boundary", aim,
				c.Denied, c.Sent)
		}
	}
}

// TestRules: an exempt phase is not counted, a barred one is denied, and each limit counts its own requests.
func TestRules(t *testing.T) {
	one := mustLimit(t, "token-bucket,rate=1/1h,burst=1")
	rules := map[string]SimulationRule{"free": {Exempt: true}, "barred": {Barred: true}, "one": {Limit: one},
		"two": {Limit: mustLimit(t, "token-bucket,rate=1/1h,burst=2")}}
	var phases []timeline.Phase
	for _, name := range []string{"free", "barred", "one", "two"} {
		p := timeline.Phase{Name: name}
		for range 3 {
			p.Arrivals = append(p.Arrivals, timeline.Arrival{Partition: "k", Phase: name})
		}
		phases = append(phases, p)
	}
	tl, err := Play(&timeline.Schedule{Phases: phases}, SimulationOptions{Answer: ms,
		Rule: func(p string) SimulationRule { return rules[p] }})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, o := range tl.Observations {
		if o.Outcome == timeline.Allowed {
			got[o.Phase]++
		}
	}
	if want := map[string]int{"free": 3, "one": 1, "two": 2}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("admitted %v, want %v", got, want)
	}
}

// TestARangeIsNoLimiter: a limit that is not a single limiter is refused.
func TestARangeIsNoLimiter(t *testing.T) {
	for _, text := range []string{"token-bucket,rate=5..20/s,burst=20", "fixed-window,rate=10/1s..2s"} {
		if _, err := NewSimulation(mustLimit(t, text), time.Time{}, ms); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}
