package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestLongestWaitsAreNeverTooShort: a right limiter is asked at random. No denial waits longer than its
// bound, whichever answers were lost and however late they came. Windows that a request opened are often
// bounded by less than a whole window.
func TestLongestWaitsAreNeverTooShort(t *testing.T) {
	for _, text := range []string{
		"fixed-window,rate=4/10s,align=first",
		"fixed-window,rate=1/10s,align=first",
		"fixed-window,rate=4/10s,align=first,count=all",
		"fixed-window,rate=4/10s,align=first,tick=1s",
		"fixed-window,rate=4/10s,align=first,refresh=admitted",
		"fixed-window,rate=4/10s,align=first,ban=3s",
		"fixed-window,rate=4/10s,align=unknown",
		"fixed-window,rate=4/10s",
		"fixed-window,rate=5/10s,align=first + fixed-window,rate=8/25s,align=first",
		"token-bucket,rate=4/10s,burst=3",
		"sliding-window-log,rate=4/10s",
	} {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		less := 0
		for round := range 400 {
			less += waitsHold(t, fmt.Sprintf("%s, round %d", text, round), limit, uint64(round))
		}
		if limit[0].Align == spec.AlignFirst && !limit[0].Refreshes() && less < 50 {
			t.Errorf("%s: only %d denials have a bound of less than a window", text, less)
		}
	}
}

// waitsHold plays one random history and returns how many denials have a bound below the longest window.
func waitsHold(t *testing.T, name string, limit spec.Limit, seed uint64) (less int) {
	t.Helper()
	r := rand.New(rand.NewPCG(11, seed))
	lim, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	state, tl := lim.Init(), &timeline.Timeline{}
	now := time.Hour + time.Duration(r.Int64N(int64(20*time.Second)))
	needs, whole := map[int]time.Duration{}, time.Duration(0)
	for _, p := range limit {
		whole = max(whole, p.LongestWindow())
	}
	for seq := range 40 {
		now += []time.Duration{0, time.Millisecond, time.Second, 4 * time.Second}[r.IntN(4)]
		o := timeline.Observation{
			Arrival:  timeline.Arrival{Seq: seq, At: now, Cost: 1 + r.Int64N(min(2, limit.Full()))},
			Answered: true, Outcome: timeline.Denied,
			Sent:      now - time.Duration(r.Int64N(int64(300*time.Millisecond))),
			FirstByte: now + time.Duration(r.Int64N(int64(300*time.Millisecond)))}
		var d reference.Decision
		if state, d = lim.Step(state, now, o.Cost); d.Allow {
			o.Outcome = timeline.Allowed
		}
		switch {
		case r.IntN(12) == 0:
			o.Answered, o.Outcome, o.FirstByte = false, timeline.Unknown, 0
		case !d.Allow:
			needs[seq] = d.RetryAfter
		}
		tl.Observations = append(tl.Observations, o)
	}
	slices.SortStableFunc(tl.Observations, timeline.BySent)
	longest := LongestWaits(tl, limit)
	for seq, need := range needs {
		bound, known := longest[seq]
		if known && bound < need {
			t.Errorf("%s: #%d waits %v, got a bound of %v", name, seq, need, bound)
		}
		if known && bound < whole {
			less++
		}
	}
	return less
}
