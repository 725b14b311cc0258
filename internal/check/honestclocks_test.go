package check

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestRightLimitersOfAnyClockAreNeverAccused is TestRightLimitersAreNeverAccused for all that a header or an
// option may say. Clocks drift, tick or differ. The end of an answer may be unseen, others may use the same
// partitions, and one side may be judged alone. Rates and windows may be declared as ranges. What is measured
// of a limiter that passes holds its true values.
func TestRightLimitersOfAnyClockAreNeverAccused(t *testing.T) {
	rounds, seeds := soakRounds(t, 500, 2000)
	whole := os.Getenv("RLCHECK_SOAK") != ""
	verdicts := map[result.Verdict]int{}
	for round := range rounds * seeds {
		r := rand.New(rand.NewPCG(soakSeed+9, uint64(round)))
		text := rangedSPEC(r)
		limit, known, lim := limiterOf(r, text)
		if lim == nil {
			continue
		}
		tl := clockedTraffic(r, lim, limit)
		if r.IntN(4) == 0 {
			cutAmid(r, tl)
		}
		o := Options{SkipMeasure: r.IntN(4) > 0, Shared: r.IntN(5) == 0,
			Conformance: []result.Conformance{"", "", "", result.UpperBound, result.LowerBound}[r.IntN(5)]}
		if o.Shared { // requests of others are not seen
			tl.Observations = slices.DeleteFunc(tl.Observations,
				func(timeline.Observation) bool { return r.IntN(5) == 0 })
		}
		where := fmt.Sprintf("round %d, %s (%s), %+v, drift %d ppm, tick %s, clocks %s apart", round, text,
			known, o,
			tl.Header.DriftPPM, tl.Header.Tick, tl.Header.ClockError)
		if s := streamed(t, tl, limit, o, anyBeginning(r)); s.Verdict == result.Fail {
			t.Errorf("%s: the stream accused: %+v", where, s.Partitions)
		}
		if !whole && round%5 > 0 { // the search is most of the work
			continue
		}
		j, err := Judge(tl, limit, o)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if verdicts[j.Verdict]++; j.Verdict == result.Fail {
			t.Errorf("%s: accused: %+v%s", where, j.Partitions, small(tl, limit))
		}
		if j.Verdict == result.Pass {
			measuresTheTruth(t, where, j, limit, known)
		}
	}
	t.Logf("%v", verdicts)
	if verdicts[result.Pass] < rounds*seeds/15 {
		t.Errorf("%v: want one in 15 of %d to pass", verdicts, rounds*seeds)
	}
}

// rangedSPEC returns a SPEC of up to three policies. A single policy may have a range of rates or of windows.
func rangedSPEC(r *rand.Rand) string {
	text := randomSPEC(r)
	if r.IntN(8) == 0 {
		text += " + " + randomPolicy(r)
	}
	before, rest, found := strings.Cut(text, "rate=")
	if !found || strings.Contains(text, "+") || r.IntN(3) > 0 {
		return text
	}
	var n int64
	rate, keys, _ := strings.Cut(rest, ",")
	_, per, _ := strings.Cut(rate, "/")
	if _, err := fmt.Sscan(rate[:strings.Index(rate, "/")], &n); err != nil {
		panic(err)
	}
	if r.IntN(2) == 0 {
		rate = fmt.Sprintf("%d..%d/%s", max(1, n-r.Int64N(3)), n+r.Int64N(3), per)
	} else {
		window, err := time.ParseDuration(per)
		if err != nil {
			panic(err)
		}
		rate = fmt.Sprintf("%d/%s..%s", n, per, window+time.Duration(r.Int64N(int64(window/4))))
	}
	return strings.TrimSuffix(before+"rate="+rate+","+keys, ",")
}

// chosen returns a limit whose ranges and unknown values are replaced by single values.
func chosen(r *rand.Rand, limit spec.Limit) spec.Limit {
	limit = slices.Clone(limit)
	for i := range limit {
		p := &limit[i]
		if p.Algorithm != spec.Concurrency && p.RateTo > 0 {
			p.Rate.N, p.RateTo = p.Rate.N+r.Int64N(p.RateTo-p.Rate.N+1), 0
		}
		if p.PerTo > 0 {
			p.Rate.Per, p.PerTo = p.Rate.Per+time.Duration(r.Int64N(int64(p.PerTo-p.Rate.Per)+1)), 0
		}
	}
	return knownLimit(r, limit)
}

// limiterOf returns three things: the limit of a SPEC, a single limit that the SPEC allows, and its limiter.
// The limiter is nil where keys do not go together, or where the value chosen from a range does not.
func limiterOf(r *rand.Rand, text string) (limit, known spec.Limit, lim reference.Limiter) {
	limit, err := spec.Parse(text)
	if err != nil || contradictory(limit) {
		return nil, nil, nil
	}
	known = chosen(r, limit)
	if lim, err = reference.NewLimit(known); err != nil {
		return nil, nil, nil
	}
	return limit, known, lim
}

// clockedTraffic is honestTraffic recorded by the clocks that a random header tells of.
func clockedTraffic(r *rand.Rand, lim reference.Limiter, limit spec.Limit) *timeline.Timeline {
	var h timeline.Header
	if !limit.Completes() && r.IntN(2) == 0 {
		h.DriftPPM = 1 + r.Int64N(100_000)
	}
	if !limit.Completes() && r.IntN(4) == 0 &&
		!slices.ContainsFunc(limit, func(p spec.Policy) bool { return p.TickSet }) {
		h.Tick = []time.Duration{50 * time.Microsecond, time.Millisecond}[r.IntN(2)]
	}
	tl := trafficBy(r, lim, limit, clock(r, h))
	for i := range tl.Observations { // a queue lets requests through by the same clock
		if o := &tl.Observations[i]; o.Answered && o.Outcome == timeline.Allowed {
			o.FirstByte += h.Tick + h.Drift(o.FirstByte)
		}
	}
	if h.Ended = tl.Header.Ended; r.IntN(2) == 0 {
		h.ClockError = time.Duration(1 + r.IntN(300_000))
		misread(r, tl, int64(h.ClockError))
	}
	if limit.Completes() && r.IntN(3) == 0 {
		for i := range tl.Observations {
			if r.IntN(5) == 0 {
				tl.Observations[i].Done = 0
			}
		}
	}
	tl.Header = h
	tl.Header.Ended = tl.End()
	return tl
}

// clock returns a clock that drifts and ticks as far as h allows.
func clock(r *rand.Rand, h timeline.Header) func(time.Duration) time.Duration {
	drift := (2*r.Float64() - 1) * float64(h.DriftPPM) / 1e6 * 0.99
	runs := func(at time.Duration) time.Duration { return at + time.Duration(float64(at)*drift) }
	if h.Tick == 0 {
		return runs
	}
	off := time.Duration(r.Int64N(int64(h.Tick)))
	return func(at time.Duration) time.Duration { return (runs(at)+h.Tick-off)/h.Tick*h.Tick - h.Tick + off }
}

// misread moves every time of tl by at most `by` nanoseconds, earlier or later.
func misread(r *rand.Rand, tl *timeline.Timeline, by int64) {
	off := func(at *time.Duration) {
		if *at > 0 {
			*at += time.Duration(r.Int64N(2*by+1) - by)
		}
	}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		off(&o.Sent)
		off(&o.FirstByte)
		off(&o.Done)
	}
	slices.SortStableFunc(tl.Observations,
		func(a, b timeline.Observation) int { return cmp.Compare(a.Sent, b.Sent) })
}

// measuresTheTruth checks that the values measured under the declared limit hold those of the known one. For
// a window the rate is measured through its length, at the declared quota.
func measuresTheTruth(t *testing.T, where string, j *result.Judgement, declared, known spec.Limit) {
	t.Helper()
	const exact = 1e-6 // the precision of the search
	for _, v := range j.Partitions {
		for i, p := range known {
			quota := p.Rate.N
			if p.Windowed() || p.Algorithm == spec.SlidingWindowLog {
				quota = declared[i].Rate.N
			}
			m := v.Measured.Of(i, len(known))
			for of, value := range map[result.Interval]float64{m.Burst: float64(p.Full()),
				m.Rate: float64(quota) / p.Rate.Per.Seconds()} {
				if of.LoSet && value < of.Lo*(1-exact) || of.HiSet && value > of.Hi*(1+exact) {
					t.Errorf("%s, partition %s: measured %+v, want %v inside", where, v.Partition, of, value)
				}
			}
			if at, size := m.Phase.Lo, float64(p.ShortestWindow()); m.Phase.LoSet {
				if at += math.Mod(math.Mod(float64(p.PhaseFrom)-at, size)+size, size); at > m.Phase.Hi {
					t.Errorf("%s, partition %s: measured a phase in %+v, want %v inside", where, v.Partition,
						m.Phase, p.PhaseFrom)
				}
			}
		}
	}
}

// TestMeasureKnowsWhatWrapsABound: measured values hold the true ones also for limiters that ban, forget or
// charge late. The same goes for several policies together and for ranges.
func TestMeasureKnowsWhatWrapsABound(t *testing.T) {
	for _, spec := range []string{"token-bucket,rate=3/3ms,burst=1,ban=4ms,ttl=5ms",
		"gcra,rate=3/3ms,burst=4,count=all,ban=4ms,ttl=500us",
		"sliding-window-log,rate=3/3ms,ban=200us,ttl=2ms",
		"sliding-window-log,rate=3/3ms,charge=completion,hold=100us..3ms",
		"fixed-window,rate=4/3ms,align=first,count=all + token-bucket,rate=5/3ms,burst=2,start=empty",
		"leaky-bucket-queue,rate=6/3ms,queue=1..4,start=0..1,undelayed=1",
		"sliding-window-counter,rate=4/1ms..1530us,align=unknown"} {
		limit := mustLimit(t, spec)
		passed := 0
		for round := range fewer(t, 30) {
			r := rand.New(rand.NewPCG(soakSeed+15, uint64(round)))
			known := chosen(r, limit)
			lim, err := reference.NewLimit(known)
			if err != nil {
				t.Fatal(err)
			}
			tl := honestTraffic(r, lim, limit)
			if j := byBounds(tl, limit, Options{}); j.Verdict == result.Pass {
				passed++
				measuresTheTruth(t, fmt.Sprintf("%s, round %d", spec, round), j, limit, known)
			}
		}
		if passed == 0 {
			t.Errorf("%s: nothing passed", spec)
		}
	}
}
