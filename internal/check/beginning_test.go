package check

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestBeginningsFailOnlyWhatJudgeFails judges only the first requests of random histories. Whatever they
// refute, Judge refutes too.
func TestBeginningsFailOnlyWhatJudgeFails(t *testing.T) {
	rounds, seeds := soakRounds(t, 50, 10_000)
	for name, limit := range smallLimits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed := 0
			for round := range rounds * seeds {
				r := rand.New(rand.NewPCG(soakSeed+7, uint64(round)))
				sh := shape{requests: 20 + r.IntN(100), gap: 1 + r.IntN(40),
					late: r.IntN(1+r.IntN(100)) * (r.IntN(4)), costs: r.IntN(3) == 0}
				tl, o := randomPartitions(t, r, limit, sh), randomStreamOptions(r)
				cutAtRandom(r, tl)
				got := streamed(t, tl, limit, o, anyBeginning(r))
				for _, p := range got.Partitions {
					for _, f := range p.Findings {
						if len(f.Observations) == 0 || f.Text == "" || f.Partition != p.Partition {
							t.Fatalf("round %d: a finding without a witness: %+v", round, f)
						}
					}
				}
				if got.Verdict != result.Fail {
					continue
				}
				if failed++; !infeasible(t, tl, limit) {
					t.Fatalf("round %d, %+v: only the beginning accuses: %+v\n%s", round, o, got.Partitions,
						draw(tl))
				}
			}
			t.Logf("%d failed", failed)
		})
	}
}

// TestLeftIsWhatWasNotJudged: a verdict says how many requests of a large partition were not judged.
func TestLeftIsWhatWasNotJudged(t *testing.T) {
	limit := mustLimit(t, "token-bucket,rate=1/s,burst=5")
	tl := &timeline.Timeline{}
	for i := range 9 { // the sixth is one too many
		tl.Observations = append(tl.Observations,
			timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: time.Duration(i),
				FirstByte: time.Duration(i), Answered: true, Outcome: timeline.Allowed})
	}
	for _, c := range []struct {
		whole, left int
		want        result.Verdict
	}{{5, 4, result.Pass}, {6, 3, result.Fail}, {9, 0, result.Fail}} {
		j := streamed(t, tl, limit, Options{SkipMeasure: true}, caps{whole: c.whole})
		if j.Verdict != c.want || j.Partitions[0].Left != c.left {
			t.Errorf("%d judged: got %v, %d left, want %v, %d left", c.whole, j.Verdict, j.Partitions[0].Left,
				c.want, c.left)
		}
	}
}

// infeasible tells whether Judge refutes a timeline with all its means. It judges both sides, so that it
// searches too. It takes the recording as complete, so that it need not wait for a silence after which
// windows begin anew.
func infeasible(t *testing.T, tl *timeline.Timeline, limit spec.Limit) bool {
	t.Helper()
	whole := *tl
	whole.Header.CompleteFrom, whole.Header.CompleteUntil = 0, 0
	j, err := Judge(&whole, limit, Options{SkipMeasure: true})
	if err != nil {
		t.Fatal(err)
	}
	return j.Verdict == result.Fail
}

// TestBeginningsOfRightLimitersAreNotAccused records limiters whose beginnings are hard to judge.
func TestBeginningsOfRightLimitersAreNotAccused(t *testing.T) {
	for _, spec := range []string{"token-bucket,rate=1/1ms,burst=13,ban=4ms,ttl=5ms",
		"gcra,rate=4/1ms,burst=5,start=empty", "leaky-bucket-queue,rate=9/1ms,queue=1..3,undelayed=1,start=1",
		"token-bucket,rate=6/1ms,burst=13,start=0..1,tick=50us",
		"leaky-bucket-queue,rate=9/3ms,queue=3,start=empty", "token-bucket,rate=8/1ms,burst=13,ttl=1ms",
		"fixed-window,rate=2/3ms,align=first,refresh=admitted,count=all",
		"fixed-window,rate=4/1ms,align=first,count=all + gcra,rate=2/1ms,burst=2",
		"concurrency,limit=2,hold=0s..200us + fixed-window,rate=9/100us,align=first,count=own",
		"sliding-window-counter,rate=1/1ms,align=first,ban=4ms",
		"fixed-window,rate=4/3ms,align=first,ttl=2700us", "fixed-window,rate=3/3ms,align=first,refresh=all",
		"fixed-window,rate=2/1ms,align=first,ttl=600us + concurrency,limit=5,hold=2ms..9ms",
		"sliding-window-counter,rate=9/3ms,align=first,ttl=2100us"} {
		limit := mustLimit(t, spec)
		rounds, seeds := soakRounds(t, 500, 20_000)
		for round := range rounds * seeds {
			r := rand.New(rand.NewPCG(soakSeed+13, uint64(round)))
			lim, err := reference.NewLimit(knownLimit(r, limit))
			if err != nil {
				t.Fatal(err)
			}
			tl := honestTraffic(r, lim, limit)
			cutAtRandom(r, tl)
			if j := streamed(t, tl, limit, Options{SkipMeasure: true},
				anyBeginning(r)); j.Verdict == result.Fail {
				t.Fatalf("%s, round %d: accused: %+v", spec, round, j.Partitions)
			}
		}
	}
}

// TestOneTooManyAfterASilence: the request that ends a silence is counted together with those that follow it.
func TestOneTooManyAfterASilence(t *testing.T) {
	for _, spec := range []string{"fixed-window,rate=2/1us,align=first,refresh=admitted",
		"fixed-window,rate=2/1us,align=first,refresh=all"} {
		limit, tl := mustLimit(t, spec), &timeline.Timeline{}
		for i, at := range []time.Duration{0, 1, 5000, 5001, 5002} {
			o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at + 5,
				Answered: true, Outcome: timeline.Allowed}
			tl.Observations = append(tl.Observations, o)
		}
		for name, j := range map[string]*result.Judgement{"whole": byBounds(tl, limit, Options{}),
			"stream": streamed(t, tl, limit, Options{}, inTurnCaps)} {
			if j.Verdict != result.Fail {
				t.Errorf("%s, %s: got %s, want fail", spec, name, j.Verdict)
			}
		}
	}
}
