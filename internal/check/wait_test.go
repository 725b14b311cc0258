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
			Arrival:  timeline.Arrival{Seq: seq, At: now, Cost: 1 + r.Int64N(2)},
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
	longest := LongestWaits(tl, limit, false)
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

// TestNoTrueWaitIsTooLong: the wait that a right limiter states, also while it is in debt, is never above the
// longest wait that the recording allows. An answer that tells no cost leaves no such bound for a bucket.
func TestNoTrueWaitIsTooLong(t *testing.T) {
	judged := 0
	for _, text := range append(settledSpecs, completionSpecs...) {
		limit := mustLimit(t, text)
		for seed := range uint64(fewer(t, 300)) {
			r := rand.New(rand.NewPCG(seed, 9))
			l, err := reference.NewLimit(knownLimit(r, limit))
			if err != nil {
				t.Fatal(err)
			}
			tl, waits := inDebt(r, l, int64(promised(limit).HoldLeast), int64(promised(limit).HoldMost))
			for seq, longest := range LongestWaits(tl, limit, false) {
				if judged++; waits[seq] > longest {
					t.Fatalf("%s, seed %d: denial #%d waits for %s, and at most %s is possible", text, seed,
						seq, waits[seq], longest)
				}
			}
		}
	}
	if judged < 1000 {
		t.Errorf("got %d denials with a bound, want more", judged)
	}
}

// inDebt records what l decides for random requests whose answers take least to most nanoseconds, and how
// long each denied one would have to wait. most=0: it is not known.
func inDebt(r *rand.Rand, l reference.Limiter, least, most int64) (*timeline.Timeline,
	map[int]time.Duration) {
	tl, waits, state := &timeline.Timeline{}, map[int]time.Duration{}, l.Init()
	var open []timeline.Observation
	for at := range time.Duration(150) {
		for i := 0; i < len(open); i++ {
			if open[i].Done == at {
				state = reference.Complete(l, state, at, open[i].Cost)
				open = append(open[:i], open[i+1:]...)
				i--
			}
		}
		if r.IntN(3) > 0 {
			continue
		}
		o := timeline.Observation{Answered: true, Sent: at - time.Duration(r.IntN(3)), FirstByte: at + 1,
			Arrival: timeline.Arrival{Seq: len(tl.Observations), Cost: 1 + r.Int64N(9)*r.Int64N(2)},
			Outcome: timeline.Denied}
		var d reference.Decision
		if state, d = l.Step(state, at, o.Cost); d.Allow {
			took := max(1, least+r.Int64N(max(most, least+3)-least+1))
			o.Outcome, o.Done = timeline.Allowed, at+time.Duration(took)
			open = append(open, o)
		} else if waits[o.Seq] = d.RetryAfter; d.RetryAfter == reference.Never {
			delete(waits, o.Seq)
		}
		tl.Observations = append(tl.Observations, o)
	}
	slices.SortStableFunc(tl.Observations, timeline.BySent)
	tl.Header.Ended = tl.End()
	return tl, waits
}
