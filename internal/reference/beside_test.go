package reference

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// differences returns the requests of a recording that a right limiter decides differently.
func differences(t *testing.T, tl *timeline.Timeline, limit string) (n int) {
	t.Helper()
	right, err := Beside(tl, []timeline.PhaseLimit{{Limit: limit}})
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range tl.Observations {
		if right[i] != o.Outcome {
			n++
		}
	}
	return n
}

// TestBesideARightLimiter: the recording of a right limiter is decided the same, whatever the order in a
// burst was.
func TestBesideARightLimiter(t *testing.T) {
	for _, limit := range []string{"token-bucket,rate=10/s,burst=5", "fixed-window,rate=5/1s",
		"sliding-window-log,rate=5/1s", "leaky-bucket,rate=10/s,burst=5"} {
		burst := timeline.Phase{Name: "p", Shape: timeline.AtOnce, Arrivals: at(12, 0)}
		rest := timeline.Phase{Name: "rest", Shape: timeline.Silence, Duration: 700 * ms}
		tl := play(t, limit, burst, rest, burst, rest, burst)
		if n := differences(t, tl, limit); n != 0 {
			t.Errorf("%s: %d differ, want none", limit, n)
		}
		random := rand.New(rand.NewPCG(1, 1))
		for from := 0; from < len(tl.Observations); from += 12 {
			random.Shuffle(12, func(i, j int) {
				a, b := &tl.Observations[from+i], &tl.Observations[from+j]
				a.Outcome, b.Outcome = b.Outcome, a.Outcome
			})
		}
		if n := differences(t, tl, limit); n != 0 {
			t.Errorf("%s, shuffled: %d differ, want none", limit, n)
		}
		denied := slices.IndexFunc(tl.Observations, func(o timeline.Observation) bool {
			return o.Outcome == timeline.Denied
		})
		tl.Observations[denied].Outcome = timeline.Allowed
		if n := differences(t, tl, limit); n != 1 {
			t.Errorf("%s, one admitted too many: %d differ, want 1", limit, n)
		}
	}
}

// TestBesideCounts: a request in flight ends with its recorded answer. An exempt phase is not decided.
// SingleUnits makes every cost 1.
func TestBesideCounts(t *testing.T) {
	o := func(sent, done time.Duration, phase string) timeline.Observation {
		return timeline.Observation{Arrival: timeline.Arrival{Phase: phase, Cost: 3}, Sent: sent * ms,
			FirstByte: sent*ms + 1, Done: done * ms, Answered: true, Outcome: timeline.Allowed}
	}
	tl := &timeline.Timeline{Header: timeline.Header{Judged: timeline.Terms{SingleUnits: true}},
		Observations: []timeline.Observation{o(0, 50, "p"), o(10, 15, "free"), o(20, 30, "p"),
			o(60, 70, "p")}}
	got, err := Beside(tl, []timeline.PhaseLimit{{Limit: "concurrency,limit=1", Phases: []string{"p"}}})
	want := []timeline.Outcome{timeline.Allowed, timeline.Unknown, timeline.Denied, timeline.Allowed}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	late := "sliding-window-log,rate=1/1h,charge=completion"
	tl.Observations = []timeline.Observation{o(0, 5, "p"), o(1, 9, "p"), o(20, 30, "p")}
	tl.Observations[1].FirstByte = 8 * ms // in flight when the first one is charged
	got, err = Beside(tl, []timeline.PhaseLimit{{Limit: late}})
	want = []timeline.Outcome{timeline.Allowed, timeline.Allowed, timeline.Denied}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("charged at the end: got %v (%v), want %v", got, err, want)
	}
	if _, err := Beside(tl, []timeline.PhaseLimit{{Limit: "fixed-window,rate=1..2/1s"}}); err == nil {
		t.Error("a range was taken for one limiter")
	}
}
