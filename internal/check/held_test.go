package check

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// heldTraffic records a limiter under an even load. Requests are gap apart on average, answered within
// `late`, and complete after what stay returns. Its load does not end in a silence as that of honestTraffic
// does, so that pieces hand on requests in flight.
func heldTraffic(r *rand.Rand, lim reference.Limiter, limit spec.Limit, n int, gap, late time.Duration,
	stay func() time.Duration) *timeline.Timeline {
	tl := &timeline.Timeline{Observations: make([]timeline.Observation, n)}
	decided, order := make([]time.Duration, n), make([]int, n)
	var at time.Duration
	for i := range order {
		at += time.Duration(r.Int64N(int64(2*gap) + 1))
		took := time.Duration(r.Int64N(int64(late) + 1))
		order[i], decided[i] = i, at+time.Duration(r.Int64N(int64(took)+1))
		tl.Observations[i] = timeline.Observation{Arrival: timeline.Arrival{Seq: i, At: at, Cost: 1},
			Sent: at, FirstByte: at + took, Answered: true}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(decided[a], decided[b]) })
	state := lim.Init()
	var held []stayed
	for _, i := range order {
		o := &tl.Observations[i]
		state, held = completeUntil(lim, state, held, decided[i])
		var d reference.Decision
		state, d = lim.Step(state, decided[i], 1)
		if o.Outcome = timeline.Denied; d.Allow {
			o.Outcome, o.FirstByte = timeline.Allowed, max(o.FirstByte, decided[i]+d.Delay)
		}
		if limit.Completes() && d.Allow {
			done := decided[i] + stay()
			held = append(held, stayed{at: done, seen: done, cost: 1})
			o.Done = max(o.FirstByte, done)
		}
	}
	tl.Header.Ended = tl.End()
	return tl
}

// TestLimitersBesideHeldRequestsAreNeverAccused: a request that another policy holds for long stays in the
// pieces of all policies. One that is held for ever says nothing about the requests that were lost.
func TestLimitersBesideHeldRequestsAreNeverAccused(t *testing.T) {
	rounds, seeds := soakRounds(t, 300, 20_000)
	verdicts := map[result.Verdict]int{}
	for round := range rounds * seeds {
		r := rand.New(rand.NewPCG(soakSeed+16, uint64(round)))
		text := randomPolicy(r) + " + " + []string{"concurrency,limit=400,hold=0s..60ms,linger=0s",
			"concurrency,limit=5,hold=0s..", "concurrency,limit=30,hold=0s..,linger=0s",
			"sliding-window-log,rate=100/1ms,charge=completion,hold=0s..60ms,linger=0s"}[r.IntN(4)]
		limit, err := spec.Parse(text)
		if err != nil || contradictory(limit) || limit[0].Rate.Per == 0 {
			continue
		}
		lim, err := reference.NewLimit(chosen(r, limit))
		if err != nil {
			continue
		}
		window, most := limit[0].Rate.Per, 60*time.Millisecond
		if limit[0].HoldMost > 0 {
			most = min(most, limit[0].HoldMost)
		}
		long, lost := 2+r.IntN(20), []int{1 << 20, 100, 20}[r.IntN(3)]
		gap := window / time.Duration(limit[0].Rate.N) / time.Duration(1+r.IntN(4))
		tl := heldTraffic(r, lim, limit, 100+r.IntN(400), gap,
			window/time.Duration([]int{1000, 50, 10, 2, 1}[r.IntN(5)]), func() time.Duration {
				span := window
				if r.IntN(long) == 0 {
					span *= 20
				}
				return min(max(limit[0].HoldLeast, limit[1].HoldLeast)+time.Duration(r.Int64N(int64(span)+1)),
					most)
			})
		for i := range tl.Observations {
			if o := &tl.Observations[i]; r.IntN(lost) == 0 {
				o.FirstByte, o.Done, o.Answered, o.Outcome = 0, 0, false, timeline.Unknown
			}
		}
		if r.IntN(4) == 0 {
			cutAmid(r, tl)
		}
		j := streamed(t, tl, limit, Options{SkipMeasure: true}, anyBeginning(r))
		if verdicts[j.Verdict]++; j.Verdict == result.Fail {
			t.Errorf("round %d, %s: accused: %+v", round, text, j.Partitions)
		}
	}
	t.Logf("%v", verdicts)
	if verdicts[result.Pass] < rounds*seeds/10 {
		t.Errorf("%v: want one in ten of %d to pass", verdicts, rounds*seeds)
	}
}

// TestBucketsBesideHeldRequestsAreNeverAccused: the level of a bucket that is handed on to the next piece
// includes what requests of the piece have used.
func TestBucketsBesideHeldRequestsAreNeverAccused(t *testing.T) {
	for i, spec := range []string{"token-bucket,rate=1/1ms,burst=5 + " +
		"concurrency,limit=400,hold=0s..60ms,linger=0s",
		"gcra,rate=2/1ms,burst=4,count=all + concurrency,limit=400,hold=0s..,linger=0s"} {
		limit := mustLimit(t, spec)
		lim, err := reference.NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		for round := range fewer(t, 20) {
			r := rand.New(rand.NewPCG(soakSeed+17+uint64(i), uint64(round)))
			tl := heldTraffic(r, lim, limit, 1000, 300*time.Microsecond, 200*time.Microsecond,
				func() time.Duration {
					return time.Duration(r.Int64N(int64([]time.Duration{time.Millisecond,
						60 * time.Millisecond}[r.IntN(10)/9])))
				})
			if j := streamed(t, tl, limit, Options{SkipMeasure: true},
				anyBeginning(r)); j.Verdict == result.Fail {
				t.Fatalf("%s, round %d: accused: %+v", spec, round, j.Partitions)
			}
		}
	}
}

// TestDenialsWithoutAFirstByteMayOpenWindows: nobody knows when they were decided.
func TestDenialsWithoutAFirstByteMayOpenWindows(t *testing.T) {
	for _, spec := range []string{"fixed-window,rate=3/2ms,align=first,count=own + gcra,rate=1/1ms,burst=3",
		"fixed-window,rate=3/2ms,align=first,count=all + sliding-window-log,rate=3/2ms"} {
		limit := mustLimit(t, spec)
		lim, err := reference.NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		for round := range fewer(t, 4000) {
			r := rand.New(rand.NewPCG(soakSeed+19, uint64(round)))
			tl := heldTraffic(r, lim, limit, 40+r.IntN(100), time.Duration(200+r.IntN(1500))*time.Microsecond,
				50*time.Microsecond, nil)
			for i := range tl.Observations {
				if o := &tl.Observations[i]; o.Outcome == timeline.Denied && r.IntN(3) == 0 {
					o.FirstByte, o.Answered = 0, false
				}
			}
			if j := streamed(t, tl, limit, Options{SkipMeasure: true},
				anyBeginning(r)); j.Verdict == result.Fail {
				t.Fatalf("%s, round %d: accused: %+v", spec, round, j.Partitions)
			}
		}
	}
}

// TestAMissingRequestReadsAClockThatStoodStill: a request decided after the end of the recording may have
// begun windows up to a tick before that end.
func TestAMissingRequestReadsAClockThatStoodStill(t *testing.T) {
	limit, tl := mustLimit(t, "sliding-window-counter,rate=10/10ms,align=first,tick=5ms"),
		&timeline.Timeline{}
	tl.Header.CompleteUntil = 52 * time.Millisecond // unrecorded: one at 52.3 ms, by its clock 51.2 ms
	add := func(n int, sent, answered time.Duration) {
		for range n {
			tl.Observations = append(tl.Observations,
				timeline.Observation{Arrival: timeline.Arrival{Seq: len(tl.Observations), Cost: 1},
					Sent: sent * time.Microsecond, FirstByte: answered * time.Microsecond, Answered: true,
					Outcome: timeline.Allowed})
		}
	}
	add(1, 1000, 1001)
	add(9, 56_900, 56_950)
	add(2, 56_900, 61_880)
	for _, j := range []*result.Judgement{byBounds(tl, limit, Options{SkipMeasure: true}),
		streamed(t, tl, limit, Options{SkipMeasure: true}, inTurnCaps)} {
		if j.Verdict == result.Fail {
			t.Errorf("accused: %s", fmt.Sprint(j.Partitions))
		}
	}
}
