package check

import (
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

// sharedHistory is a small history of a few partitions under one limiter.
func sharedHistory(r *rand.Rand, lim reference.Limiter, late int) *timeline.Timeline {
	whole := &timeline.Timeline{}
	for k := range 2 + r.IntN(2) {
		tl := randomHistory(r, lim, shape{requests: 2 + r.IntN(4), gap: 15, late: late})
		for _, o := range tl.Observations {
			o.Partition = fmt.Sprint("p", k)
			whole.Observations = append(whole.Observations, o)
		}
	}
	slices.SortStableFunc(whole.Observations,
		func(a, b timeline.Observation) int { return int(a.Sent - b.Sent) })
	for i := range whole.Observations {
		whole.Observations[i].Seq = i
	}
	whole.Header.Ended = whole.End()
	return whole
}

// TestOneTimerForAllPartitions: one timer ends the windows of all partitions. They are judged together, as
// the oracle judges them. A finding about all of them fails on its own. It does not fail where each partition
// has windows of its own.
func TestOneTimerForAllPartitions(t *testing.T) {
	rounds, seeds := soakRounds(t, 2000, 20_000)
	for _, text := range []string{"fixed-window,rate=2/20ns,align=shared",
		"fixed-window,rate=1/20ns,align=shared,count=all",
		"sliding-window-counter,rate=2/20ns,align=shared"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			p := mustPolicy(t, text)
			own := p
			own.Align = spec.AlignUnknown
			var all catches
			together := 0
			for seed := range seeds {
				r := rand.New(rand.NewPCG(soakSeed+uint64(seed), 1))
				for range rounds {
					known := knownLimit(r, spec.Limit{p})
					lim, err := reference.NewLimit(known)
					if err != nil {
						t.Fatal(err)
					}
					tl := sharedHistory(r, lim, []int{0, 5, 10, 30}[r.IntN(4)])
					failed, explained := accused(t, tl, spec.Limit{p}), feasible(t, tl, p)
					if all.histories++; !explained {
						all.infeasible++
					}
					if !failed {
						continue
					}
					if all.caught++; explained {
						t.Fatalf("false alarm: %s", draw(tl))
					}
					if proven := sharedFindings(t, tl, p); !accused(t, tl, spec.Limit{own}) {
						together++
						if proven < 2 {
							t.Fatalf("one partition alone is accused of what only several refute:\n%s",
								draw(tl))
						}
					}
				}
			}
			t.Logf("caught %s of %d histories; %d only together", all, all.histories, together)
			if enough(t, text, demanded, catches{}, all); together == 0 && all.histories >= 800 {
				t.Errorf("%d histories were refuted only together, want some", together)
			}
		})
	}
}

// sharedFindings checks that the findings of tl, all together, fail on their own. It returns how many there
// are.
func sharedFindings(t *testing.T, tl *timeline.Timeline, p spec.Policy) (n int) {
	t.Helper()
	var seqs []int
	for _, part := range judged(t, tl, p).Partitions {
		for _, f := range part.Findings {
			n++
			seqs = append(seqs, f.Observations...)
			if f.Text == "" || f.Partition != part.Partition {
				t.Fatalf("a finding out of shape: %+v", f)
			}
		}
	}
	if !accused(t, alone(tl, seqs), spec.Limit{p}) {
		t.Fatalf("what is found does not fail alone: %v\n%s", seqs, draw(tl))
	}
	return n
}

// TestManyPartitionsShareTheirWindows: for a large group that fails, the proof takes little work.
func TestManyPartitionsShareTheirWindows(t *testing.T) {
	p := mustPolicy(t, "fixed-window,rate=20/1s,align=shared")
	tl, used := &timeline.Timeline{}, map[[2]int]int{}
	for i := range 20_000 { // the windows of each key begin at an instant of its own
		key, at := i%100, time.Duration(i)*time.Millisecond/5
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Partition: fmt.Sprint("k", key), Cost: 1},
			Sent: at, FirstByte: at + time.Millisecond, Answered: true, Outcome: timeline.Denied}
		window := [2]int{key, int((at + time.Second - time.Duration(key)*9*time.Millisecond) / time.Second)}
		if used[window]++; used[window] <= 20 {
			o.Outcome = timeline.Allowed
		}
		tl.Observations = append(tl.Observations, o)
	}
	tl.Header.Ended = tl.End()
	if n := sharedFindings(t, tl, p); n < 2 {
		t.Errorf("%d findings, want those of several partitions", n)
	}
}

// TestHintOfOneTimer: the windows of all partitions end together, though each should have its own. The hint
// says so.
func TestHintOfOneTimer(t *testing.T) {
	tl := &timeline.Timeline{}
	add := func(key string, at time.Duration, n int, outcome timeline.Outcome) {
		for range n {
			tl.Observations = append(tl.Observations,
				timeline.Observation{Arrival: timeline.Arrival{Seq: len(tl.Observations), Partition: key,
					Cost: 1},
					Sent: at, FirstByte: at + time.Millisecond, Answered: true, Outcome: outcome})
		}
	}
	for _, key := range []string{"a", "b"} {
		at := map[string]time.Duration{"a": 100, "b": 600}[key] * time.Millisecond
		add(key, at, 3, timeline.Allowed)
		add(key, at+2*time.Millisecond, 1, timeline.Denied)
	}
	add("a", 900*time.Millisecond, 3, timeline.Allowed)
	add("b", 901*time.Millisecond, 3, timeline.Allowed)
	tl.Header.Ended = tl.End()
	tl.Header.Started = time.Unix(1_000_000_000, 0) // a window of the clock begins
	for text, want := range map[string]string{
		"fixed-window,rate=3/1s,align=first": "a fixed window of 3/s that one timer ends for all " +
			"clients",
	} {
		j, err := Judge(tl, spec.Limit{mustPolicy(t, text)}, Options{Hint: true})
		if err != nil || j.Verdict != result.Fail ||
			!explainedBy(j, want, "fixed-window,rate=3/s,align=shared") {
			t.Errorf("%s: got %v, hint %q, error %v, want fail, hint %q", text, j.Verdict, j.Hint, err, want)
		}
	}
}

// TestDenialsMeasureNothingWhereOthersUseThePartitions: there, a right limiter of burst 3 may deny the second
// request that we see.
func TestDenialsMeasureNothingWhereOthersUseThePartitions(t *testing.T) {
	tl := &timeline.Timeline{}
	for i, outcome := range []timeline.Outcome{timeline.Allowed, timeline.Denied} {
		at := time.Duration(i) * time.Millisecond
		tl.Observations = append(tl.Observations,
			timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at,
				Answered: true, Outcome: outcome})
	}
	for _, mode := range []result.Conformance{"", result.UpperBound, result.LowerBound} {
		j := byBounds(tl, mustLimit(t, "token-bucket,rate=10/s,burst=3"),
			Options{Shared: true, Conformance: mode})
		if m := j.Partitions[0].Measured; m.Burst.HiSet || m.Rate.HiSet {
			t.Errorf("%q: measured %+v", mode, m)
		}
	}
}

// TestOthersMayBeginWindows: requests of others may have opened a window, created a bucket that starts empty,
// or set its batches. More of our requests are then admitted.
func TestOthersMayBeginWindows(t *testing.T) {
	for _, spec := range []string{"fixed-window,rate=2/100ms,align=first",
		"fixed-window,rate=2/100ms,align=first,count=all",
		"fixed-window,rate=2/100ms,align=first + sliding-window-log,rate=100/1s",
		"sliding-window-counter,rate=2/100ms,align=first,rounding=down",
		"token-bucket,rate=2/100ms,burst=4,start=empty", "gcra,rate=2/100ms,burst=4,start=1,ttl=30ms",
		"token-bucket,rate=2/100ms,burst=2,refill=interval,fill=2",
		"token-bucket,rate=2/100ms,burst=2,refill=interval,fill=2 + sliding-window-log,rate=9/1s"} {
		tl := &timeline.Timeline{}
		for i, at := range []time.Duration{1090, 1090, 1101, 1101} { // others began what ends at 1100 ms
			tl.Observations = append(tl.Observations,
				timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at * time.Millisecond,
					FirstByte: at * time.Millisecond, Answered: true, Outcome: timeline.Allowed})
		}
		limit, o := mustLimit(t, spec), Options{Shared: true, SkipMeasure: true}
		whole, stream := judgeBy(t, tl, spec, o), streamed(t, tl, limit, o, inTurnCaps)
		if whole.Verdict == result.Fail || stream.Verdict == result.Fail {
			t.Errorf("%s: accused: %+v, as a stream %+v", spec, whole.Partitions, stream.Partitions)
		}
	}
}
