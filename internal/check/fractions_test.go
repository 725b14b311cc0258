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

// bytesThrough records some minutes of a bucket of many units a second whose requests cost many units.
func bytesThrough(t *testing.T, r *rand.Rand, p spec.Policy) *timeline.Timeline {
	t.Helper()
	lim, err := reference.New(p)
	if err != nil {
		t.Fatal(err)
	}
	tl, state, at := &timeline.Timeline{}, lim.Init(), time.Duration(0)
	for i := range 120 {
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1 + r.Int64N(p.Burst)}, Sent: at,
			FirstByte: at, Answered: true, Outcome: timeline.Denied}
		var d reference.Decision
		if state, d = lim.Step(state, at, o.Cost); d.Allow {
			o.Outcome = timeline.Allowed
		} else if r.IntN(3) > 0 {
			at += d.RetryAfter - time.Duration(r.IntN(2))
		}
		if tl.Observations = append(tl.Observations, o); i%40 == 39 {
			at += time.Duration(100+r.IntN(100)) * time.Second
		}
	}
	tl.Header.Ended = tl.End()
	return tl
}

// TestRatesBetweenRoundOnesStayInBounds: the ends of 100,000,000/s to 110,000,000/s are short fractions of
// units and nanoseconds. Most rates between them are not.
func TestRatesBetweenRoundOnesStayInBounds(t *testing.T) {
	saysReplay(t)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := mustPolicy(t, []string{"token-bucket,rate=100000000..110000000/s,burst=82495429",
			"token-bucket,rate=500000000..700000000/s,burst=300000000",
			"gcra,rate=1000000..2000000/s,burst=1000000",
			"leaky-bucket,rate=1000000..2000000/s,burst=1000..1000000"}[r.IntN(4)])
		one := p
		one.Rate.N, one.RateTo, one.BurstTo = p.Rate.N+r.Int64N(p.RateTo-p.Rate.N), 0, 0
		tl := bytesThrough(t, r, one)
		if j := judged(t, tl, p); j.Verdict == result.Fail {
			t.Errorf("seed %d: %s is no %s: %+v", seed, one, p, j.Partitions[0].Findings)
		}
		if s := streamed(t, tl, spec.Limit{p}, Options{}, anyBeginning(r)); s.Verdict == result.Fail {
			t.Errorf("seed %d: as a stream %s is no %s: %+v", seed, one, p, s.Partitions[0].Findings)
		}
	}
}

// TestRatesOfManyUnitsAreMeasured: the rate measured for a limit in bytes holds the true one, in a narrow
// interval.
func TestRatesOfManyUnitsAreMeasured(t *testing.T) {
	saysReplay(t)
	for _, text := range []string{"token-bucket,rate=1000000000/s,burst=324210835",
		"token-bucket,rate=100000000/s,burst=82495429", "gcra,rate=524288000/s,burst=379344057",
		"leaky-bucket,rate=1000000/s,burst=4000000000", "token-bucket,rate=1000000/s,burst=2000000"} {
		p := mustPolicy(t, text)
		for seed := range uint64(5) {
			tl, truth := bytesThrough(t, rand.New(rand.NewPCG(seed, 4)), p), float64(p.Rate.N)
			j, err := Judge(tl, spec.Limit{p}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if m := j.Measured.Rate; j.Verdict == result.Fail || m.LoSet && m.Lo > truth || m.HiSet &&
				m.Hi < truth || !m.Within(truth, 0.05) {
				t.Errorf("%s, seed %d: %v, measured %s, want what holds %g within 5 %%", text, seed,
					j.Verdict, m, truth)
			}
		}
	}
}

// TestHugeQuotasAreMeasured: the measured value stays a number of units, however many are declared.
func TestHugeQuotasAreMeasured(t *testing.T) {
	// so many units that nothing lies beyond them
	for text, want := range map[string]string{"fixed-window,rate=2251799813685248/1us,phase=0s": "nothing",
		"sliding-window-log,rate=4503599627370496/1ns":                  "4.5036e+15..4.5036e+15",
		"token-bucket,rate=4503599627370496/1ns,burst=4503599627370496": "4.5036e+15..4.5036e+15"} {
		p := mustPolicy(t, text)
		tl := &timeline.Timeline{}
		for i, outcome := range []timeline.Outcome{timeline.Allowed, timeline.Denied} {
			o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Answered: true,
				Outcome: outcome}
			if outcome == timeline.Allowed {
				o.Cost = p.Full()
			}
			tl.Observations = append(tl.Observations, o)
		}
		j, err := Judge(tl, spec.Limit{p}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := j.Measured.Burst.String(); j.Verdict != result.Pass || got != want {
			t.Errorf("%s: %v, measured %s, want a pass, %s", text, j.Verdict, got, want)
		}
	}
}

// TestQuotasOfAMonthAreMeasured: a window may last longer than 2^61 nanoseconds divided by its quota.
func TestQuotasOfAMonthAreMeasured(t *testing.T) {
	for _, text := range []string{"fixed-window,rate=10000/720h,phase=0s",
		"fixed-window,rate=10000/720h,align=first",
		"sliding-window-log,rate=10000/720h"} {
		p := mustPolicy(t, text)
		tl := &timeline.Timeline{}
		for i := range 10_010 {
			o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Answered: true,
				Sent: time.Duration(i) * time.Millisecond, Outcome: timeline.Allowed}
			if o.FirstByte = o.Sent + 1000; i >= 10_000 {
				o.Outcome = timeline.Denied
			}
			tl.Observations = append(tl.Observations, o)
		}
		j, err := Judge(tl, spec.Limit{p}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := j.Measured.Burst.String(); j.Verdict != result.Pass || got != "10000..10000" {
			t.Errorf("%s: %v, measured %s, want a pass, 10000..10000", text, j.Verdict, got)
		}
	}
}
