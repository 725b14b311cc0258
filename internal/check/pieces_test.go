package check

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/judge"
	"github.com/rlcheck/rlcheck/internal/check/pieces"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestPiecesFailOnlyWhatJudgeFails judges random histories in pieces of eight requests and more. Whatever
// they refute, Judge refutes too. They find nearly all that the bounds refute on the whole.
func TestPiecesFailOnlyWhatJudgeFails(t *testing.T) {
	rounds, seeds := soakRounds(t, 50, 10_000)
	for name, limit := range smallLimits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both, missed, more := 0, 0, 0
			for round := range rounds * seeds {
				r := rand.New(rand.NewPCG(soakSeed+7, uint64(round)))
				sh := shape{requests: 20 + r.IntN(100), gap: 1 + r.IntN(40),
					late: r.IntN(1+r.IntN(100)) * (r.IntN(4)), costs: r.IntN(3) == 0}
				tl, o := randomPartitions(t, r, limit, sh), randomStreamOptions(r)
				cutAtRandom(r, tl)
				got, whole := streamed(t, tl, limit, o, everything(r)), byBounds(tl, limit, o)
				for _, p := range got.Partitions {
					for _, f := range p.Findings {
						if len(f.Observations) == 0 || f.Text == "" || f.Partition != p.Partition {
							t.Fatalf("round %d: a finding without a witness: %+v", round, f)
						}
					}
				}
				switch {
				case got.Verdict == verdict.Fail && whole.Verdict == verdict.Fail:
					both++
				case whole.Verdict == verdict.Fail:
					missed++
					t.Logf("%s: round %d missed: %+v %s\ngot %s\n%+v\n%s", name, round, o, kindsOf(whole),
						kindsOf(got), whole.Partitions, draw(tl))
				case got.Verdict == verdict.Fail:
					more++
					if limit[0].TTL > 0 && limit[0].Start == spec.StartEmpty {
						break // Judge says nothing of what follows the first silence
					}
					if !infeasible(t, tl, limit) {
						t.Fatalf("round %d, %+v: only the pieces accuse: %+v\n%s", round, o, got.Partitions,
							draw(tl))
					}
				}
			}
			t.Logf("%d failed by both, %d by the bounds on the whole alone, %d by the pieces alone", both,
				missed, more)
		})
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
	return j.Verdict == verdict.Fail
}

// TestPiecesOfWrongLimiters turns one or two outcomes of right limiters of random SPECs. It compares what the
// pieces find with what the bounds find on the whole.
func TestPiecesOfWrongLimiters(t *testing.T) {
	rounds, seeds := soakRounds(t, 200, 20_000)
	both, missed := 0, map[string]int{}
	for round := range rounds * seeds {
		r := rand.New(rand.NewPCG(soakSeed+9, uint64(round)))
		text := randomSPEC(r)
		limit, err := spec.Parse(text)
		if err != nil || contradictory(limit) || limit[0].TTL > 0 && limit[0].Start == spec.StartEmpty {
			continue
		}
		lim, err := reference.NewLimit(knownLimit(r, limit))
		if err != nil {
			t.Fatal(err)
		}
		tl := honestTraffic(r, lim, limit)
		for range 1 + r.IntN(2) {
			o := &tl.Observations[r.IntN(len(tl.Observations))]
			if o.Outcome != timeline.Unknown {
				o.Outcome = 3 - o.Outcome
			}
		}
		o := judge.Options{SkipMeasure: true}
		got, whole := streamed(t, tl, limit, o, everything(r)), byBounds(tl, limit, o)
		switch {
		case got.Verdict == verdict.Fail && whole.Verdict == verdict.Fail:
			both++
		case whole.Verdict == verdict.Fail:
			missed[limit[0].String()]++
			t.Logf("round %d, %s: missed %s, got %s", round, text, kindsOf(whole), kindsOf(got))
		case got.Verdict == verdict.Fail:
			if j, err := Judge(tl, limit, o); err != nil || j.Verdict != verdict.Fail {
				t.Fatalf("round %d, %s: only the pieces accuse: %+v\n%s", round, fmt.Sprint(limit),
					got.Partitions, draw(tl))
			}
		}
	}
	t.Logf("%d failed by both, missed %v", both, missed)
	if len(missed) > 2+both/50 {
		t.Errorf("the pieces miss %v of what the bounds find on the whole, beside %d", missed, both)
	}
}

// TestPiecesOfLimitersThatWereAccused records limiters that were once accused in pieces, wrongly, by a fault
// in sweeps, levels or beginnings.
func TestPiecesOfLimitersThatWereAccused(t *testing.T) {
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
				everything(r)); j.Verdict == verdict.Fail {
				t.Fatalf("%s, round %d: accused: %+v", spec, round, j.Partitions)
			}
		}
	}
}

// TestPiecesStayShort: pieces stay short however long the recording is. That includes recordings whose
// requests place the windows, those cut out of traffic, and those of which the rest is not judged.
func TestPiecesStayShort(t *testing.T) {
	for _, spec := range []string{"sliding-window-counter,rate=1000/s,align=first",
		"sliding-window-counter,rate=1000/s,align=first,ttl=50ms",
		"fixed-window,rate=250/300ms,align=first,count=all",
		"fixed-window,rate=250/300ms,align=first,ttl=50ms",
		"fixed-window,rate=250/100ms,align=first,refresh=all"} {
		for _, h := range []timeline.Header{{}, {CompleteFrom: 1, CompleteUntil: time.Second}} {
			s := newStream(mustLimit(t, spec), h, Options{SkipMeasure: true}, pieces.Caps{Piece: 64})
			for _, o := range servedLong(t, rand.New(rand.NewPCG(3, 3)), spec, 16_000, 3000) {
				if err := s.Observe(&o); err != nil {
					t.Fatal(err)
				}
			}
			most, x := 0, pieces.New(planOf(s), "", false, nil)
			s.partitions[""].tape.Each(s.store, func(o *history.Observation) bool {
				x.Observe(o)
				most = max(most, len(x.Obs))
				return true
			})
			if most > 8000 {
				t.Errorf("%s, complete from %s: %d of 16000 are kept", spec, h.CompleteFrom, most)
			}
		}
	}
}

// TestOneTooManyAfterASilence: the request that ends a silence is counted together with those that follow it,
// in pieces and on the whole.
func TestOneTooManyAfterASilence(t *testing.T) {
	for _, spec := range []string{"fixed-window,rate=2/1us,align=first,refresh=admitted",
		"fixed-window,rate=2/1us,align=first,refresh=all"} {
		limit, tl := mustLimit(t, spec), &timeline.Timeline{}
		for i, at := range []time.Duration{0, 1, 5000, 5001, 5002} {
			o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at + 5,
				Answered: true, Outcome: timeline.Allowed}
			tl.Observations = append(tl.Observations, o)
		}
		for name, j := range map[string]*verdict.Judgement{"whole": byBounds(tl, limit, Options{}),
			"pieces": streamed(t, tl, limit, Options{}, pieces.Caps{Piece: 8})} {
			if j.Verdict != verdict.Fail {
				t.Errorf("%s, %s: got %s, want fail", spec, name, j.Verdict)
			}
		}
	}
}
