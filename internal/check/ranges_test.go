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

// TestRangesHoldEveryLimiterInThem: a history of a limiter inside the range is never refuted, one of a
// limiter outside mostly is. A range refutes no more than each of its whole values does.
func TestRangesHoldEveryLimiterInThem(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	spec := func(text string) spec.Policy {
		l, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return l[0]
	}
	cases := []struct {
		ranged          string
		inside, outside []string
	}{
		{"token-bucket,rate=2..4/60ns,burst=2",
			[]string{"token-bucket,rate=2/60ns,burst=2", "token-bucket,rate=3/60ns,burst=2",
				"token-bucket,rate=7/120ns,burst=2", "token-bucket,rate=4/60ns,burst=2"},
			[]string{"token-bucket,rate=12/60ns,burst=2", "token-bucket,rate=1/240ns,burst=2"}},
		{"token-bucket,rate=3/60ns,burst=2..3",
			[]string{"token-bucket,rate=3/60ns,burst=2", "token-bucket,rate=3/60ns,burst=3"},
			[]string{"token-bucket,rate=3/60ns,burst=6", "token-bucket,rate=3/60ns,burst=1"}},
		{"token-bucket,rate=2/60ns,burst=4,start=1..2",
			[]string{"token-bucket,rate=2/60ns,burst=4,start=1", "token-bucket,rate=2/60ns,burst=4,start=2"},
			[]string{"token-bucket,rate=2/60ns,burst=4", "token-bucket,rate=2/60ns,burst=4,start=empty"}},
		{"gcra,rate=2/60ns,burst=3,ban=30ns..50ns",
			[]string{"gcra,rate=2/60ns,burst=3,ban=30ns", "gcra,rate=2/60ns,burst=3,ban=41ns",
				"gcra,rate=2/60ns,burst=3,ban=50ns"},
			[]string{"gcra,rate=2/60ns,burst=3,ban=90ns", "gcra,rate=2/60ns,burst=3"}},
		{"gcra,rate=1/120ns,burst=3,ttl=20ns..30ns",
			[]string{"gcra,rate=1/120ns,burst=3,ttl=20ns", "gcra,rate=1/120ns,burst=3,ttl=26ns",
				"gcra,rate=1/120ns,burst=3,ttl=30ns"},
			[]string{"gcra,rate=1/120ns,burst=3,ttl=2ns", "gcra,rate=1/120ns,burst=3"}},
		{"fixed-window,rate=2..3/60ns,phase=10ns",
			[]string{"fixed-window,rate=2/60ns,phase=10ns", "fixed-window,rate=3/60ns,phase=10ns"},
			[]string{"fixed-window,rate=1/60ns,phase=10ns", "fixed-window,rate=6/60ns,phase=10ns"}},
		{"sliding-window-log,rate=2..3/40ns",
			[]string{"sliding-window-log,rate=2/40ns", "sliding-window-log,rate=3/40ns"},
			[]string{"sliding-window-log,rate=1/40ns", "sliding-window-log,rate=7/40ns"}},
		{"fixed-window,rate=2/40ns..60ns,phase=10ns",
			[]string{"fixed-window,rate=2/40ns,phase=10ns", "fixed-window,rate=2/49ns,phase=10ns",
				"fixed-window,rate=2/60ns,phase=10ns"},
			[]string{"fixed-window,rate=1/60ns,phase=10ns", "fixed-window,rate=2/15ns,phase=10ns",
				"fixed-window,rate=2/200ns,phase=10ns"}},
		{"fixed-window,rate=2/40ns..60ns,align=first",
			[]string{"fixed-window,rate=2/40ns,align=first", "fixed-window,rate=2/49ns,align=first",
				"fixed-window,rate=2/60ns,align=first"},
			[]string{"fixed-window,rate=1/60ns,align=first", "fixed-window,rate=2/15ns,align=first",
				"fixed-window,rate=2/200ns,align=first"}},
		{"sliding-window-log,rate=2/40ns..60ns",
			[]string{"sliding-window-log,rate=2/40ns", "sliding-window-log,rate=2/49ns",
				"sliding-window-log,rate=2/60ns"},
			[]string{"sliding-window-log,rate=1/60ns", "sliding-window-log,rate=2/15ns",
				"sliding-window-log,rate=2/200ns"}},
		{"sliding-window-log,rate=2/40ns..60ns,count=all",
			[]string{"sliding-window-log,rate=2/40ns,count=all", "sliding-window-log,rate=2/49ns,count=all",
				"sliding-window-log,rate=2/60ns,count=all"},
			[]string{"sliding-window-log,rate=1/60ns,count=all", "sliding-window-log,rate=2/15ns,count=all",
				"sliding-window-log,rate=2/200ns,count=all"}},
		{"sliding-window-counter,rate=2/40ns..60ns,phase=10ns",
			[]string{"sliding-window-counter,rate=2/40ns,phase=10ns",
				"sliding-window-counter,rate=2/49ns,phase=10ns",
				"sliding-window-counter,rate=2/60ns,phase=10ns"},
			[]string{"sliding-window-counter,rate=1/60ns,phase=10ns",
				"sliding-window-counter,rate=2/15ns,phase=10ns",
				"sliding-window-counter,rate=2/200ns,phase=10ns"}},
		{"sliding-window-counter,rate=2/40ns..60ns,align=first",
			[]string{"sliding-window-counter,rate=2/40ns,align=first",
				"sliding-window-counter,rate=2/49ns,align=first",
				"sliding-window-counter,rate=2/60ns,align=first"},
			[]string{"sliding-window-counter,rate=1/60ns,align=first",
				"sliding-window-counter,rate=2/15ns,align=first",
				"sliding-window-counter,rate=2/200ns,align=first"}},
		{"fixed-window,rate=2..3/40ns..60ns,align=unknown",
			[]string{"fixed-window,rate=2/47ns,phase=11ns", "fixed-window,rate=3/60ns,phase=59ns"},
			[]string{"fixed-window,rate=7/47ns,phase=11ns", "fixed-window,rate=2/300ns,phase=11ns"}},
		{"sliding-window-counter,rate=2..3/40ns..60ns,align=unknown",
			[]string{"sliding-window-counter,rate=2/47ns,phase=11ns",
				"sliding-window-counter,rate=3/60ns,phase=59ns"},
			[]string{"sliding-window-counter,rate=9/47ns,phase=11ns",
				"sliding-window-counter,rate=2/300ns,phase=11ns"}},
	}
	for _, c := range cases {
		t.Run(c.ranged, func(t *testing.T) {
			p := spec(c.ranged)
			r := rand.New(rand.NewPCG(3, 9))
			for _, text := range c.inside {
				if n := refuted(t, r, p, spec(text)); n > 0 {
					t.Errorf("%s: %d histories refuted, want 0", text, n)
				}
			}
			for _, text := range c.outside {
				if n := refuted(t, r, p, spec(text)); n == 0 {
					t.Errorf("%s: no history refuted", text)
				}
			}
		})
	}
}

// refuted counts the histories that p refutes, out of 200 dense ones of the limiter of `made`.
func refuted(t *testing.T, r *rand.Rand, p, made spec.Policy) int {
	t.Helper()
	lim, err := reference.New(made)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range max(fewer(t, 100), 26) {
		tl := honestHistory(r, lim, 24)
		j, err := Judge(tl, spec.Limit{p}, Options{SkipMeasure: true})
		if err != nil {
			t.Fatal(err)
		}
		if j.Verdict == result.Fail {
			n++
			if f := j.Partitions[0].Findings[0]; judged(t, alone(tl, f.Observations),
				p).Verdict != result.Fail {
				t.Fatalf("the witness does not fail alone: %+v", f)
			}
		}
	}
	return n
}

// honestHistory records what the limiter answers to n requests about five nanoseconds apart, with some
// silences.
func honestHistory(r *rand.Rand, lim reference.Limiter, n int) *timeline.Timeline {
	tl := &timeline.Timeline{}
	state := lim.Init()
	var at, busy time.Duration
	for i := range n {
		at += time.Duration(r.IntN(10))
		if r.IntN(10) == 0 {
			at += time.Duration(20 + r.IntN(20))
		}
		decided := max(at+time.Duration(r.IntN(4)), busy)
		busy = decided
		var d reference.Decision
		state, d = lim.Step(state, decided, 1)
		outcome := timeline.Denied
		if d.Allow {
			outcome = timeline.Allowed
		}
		tl.Observations = append(tl.Observations, timeline.Observation{
			Arrival: timeline.Arrival{Seq: i, At: at, Cost: 1}, Sent: at,
			FirstByte: decided + time.Duration(r.IntN(4)), Answered: true, Outcome: outcome})
	}
	return tl
}

// TestARangeFailsOneSideAsItsEndDoes: on one side a range is refuted exactly where its loosest or its
// tightest policy is. Of windows that is so for all of their phases together, and not for each part of them.
func TestARangeFailsOneSideAsItsEndDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	r := rand.New(rand.NewPCG(31, 1))
	for _, text := range []string{"token-bucket,rate=2..4/60ns,burst=2..3",
		"sliding-window-log,rate=2..3/30ns..40ns", "fixed-window,rate=2..3/60ns,phase=10ns",
		"fixed-window,rate=2..3/60ns,align=unknown"} {
		ranged := mustLimit(t, text)
		tight, loose := ranged[0].Ends()
		fails := 0
		for i := range 400 {
			served := []string{"1", "6"}[i%2]
			lim, err := reference.NewLimit(mustLimit(t, "fixed-window,rate="+served+"/60ns,phase=10ns"))
			if err != nil {
				t.Fatal(err)
			}
			tl := randomHistory(r, lim, shape{requests: 12, gap: 20, late: 10})
			for side, end := range map[result.Conformance]spec.Policy{result.UpperBound: loose,
				result.LowerBound: tight} {
				o := Options{Conformance: side, SkipMeasure: true}
				got, err := Judge(tl, ranged, o)
				want, wrong := Judge(tl, spec.Limit{end}, o)
				if err != nil || wrong != nil || got.Verdict != want.Verdict {
					t.Fatalf("%s on %s, history %d: got %s %v, and %s %v of %s", text, side, i,
						got.Verdict, err, want.Verdict, wrong, end)
				}
				if got.Verdict == result.Fail {
					fails++
				}
			}
		}
		if fails < 40 {
			t.Errorf("%s: got %d failures, want 40: the histories show too little", text, fails)
		}
	}
}
