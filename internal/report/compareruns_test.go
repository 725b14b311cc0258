package report

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestCutIsThatOfTheTables: cut agrees with printed critical values of the rank test for 5 % on both sides
// together (Mann and Whitney 1947; Siegel 1956, table K).
func TestCutIsThatOfTheTables(t *testing.T) {
	for _, x := range []struct{ n, m, want int }{
		{1, 1, -1}, {3, 3, -1}, {4, 4, 0}, {5, 5, 2}, {8, 8, 13}, {10, 10, 23}, {20, 20, 127},
		{5, 9, 7}, {9, 5, 7}, {2, 8, 0},
	} {
		if got := cut(x.n, x.m, 0.05); got != x.want {
			t.Errorf("%d and %d runs: got U %d, want %d", x.n, x.m, got, x.want)
		}
	}
	for rows, want := range map[int]int{0: 4, 1: 4, 6: 5, 144: 8} {
		if got := needed(rows); got != want {
			t.Errorf("%d rows: got %d runs a side, want %d", rows, got, want)
		}
	}
}

// runWith returns a run of one scenario with 200 allowed answers that took d, give or take spread.
func runWith(v result.Verdict, d, spread time.Duration) *result.Run {
	s := result.Scenario{ID: "burst", Kind: result.Required, Verdict: v,
		Standing: result.Standing{Fresh: true}}
	s.Limit, _ = spec.Parse("token-bucket,rate=10/s,burst=20")
	s.Latency.Allowed.Corrected = timeline.Distribution{Count: 200, Min: d - spread, P50: d, P99: d +
		spread, Max: d + spread,
		Buckets: []timeline.LatencyBucket{{From: d - spread, To: d, Count: 100}, {From: d, To: d + spread,
			Count: 100}}}
	return &result.Run{Scenarios: []result.Scenario{s}}
}

func compareSideOf(name string, runs ...*result.Run) Side { return Side{Name: name, Runs: runs} }

func mustCompare(t *testing.T, old, new Side, o CompareOptions) *Comparison {
	t.Helper()
	c, err := Compare(old, new, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNoWolf: of 1,000 comparisons of one build with itself, at most 5 % show any difference, although runs
// differ by half. Most comparisons show a latency that doubled.
func TestNoWolf(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	side := func(factor float64) Side {
		var s Side
		for range 8 {
			d := time.Duration(factor * 1e6 * math.Exp(0.4*r.NormFloat64()))
			s.Runs = append(s.Runs, runWith(result.Pass, d, d/2))
		}
		return s
	}
	alarms, seen := 0, 0
	for range 1000 {
		old := side(1)
		for _, l := range mustCompare(t, old, side(1), CompareOptions{}).Scenarios[0].Latencies {
			if l.Ratio.Differs() {
				alarms++
				break
			}
		}
		if l := mustCompare(t, old, side(2), CompareOptions{}).Scenarios[0].Latencies[0]; l.Ratio.Differs() &&
			l.Ratio.Lo > 1 {
			seen++
		}
	}
	if alarms > 50 || seen < 700 {
		t.Errorf("%d of 1000 comparisons of equals showed a difference, want at most 50; %d of 1000 saw "+
			"that a latency doubled, "+
			"want at least 700", alarms, seen)
	}
}

// TestOneRunASideShowsNoLatency: one run on each side, however different, says nothing about the next run.
// The result is inconclusive, not a pass.
func TestOneRunASideShowsNoLatency(t *testing.T) {
	old, new := compareSideOf("old", runWith(result.Pass, 1e6, 1e5)),
		compareSideOf("new", runWith(result.Pass, 9e6,
			1e5))
	if c := mustCompare(t, old, new, CompareOptions{}); c.Verdict != result.Pass ||
		c.Scenarios[0].Latencies[0].Ratio.Bounded {
		t.Errorf("got %s, %+v, want a pass without an interval", c.Verdict,
			c.Scenarios[0].Latencies[0].Ratio)
	}
	c := mustCompare(t, old, new, CompareOptions{Gate: true, MaxRegression: 0.1})
	if c.Verdict != result.Inconclusive || !strings.Contains(c.Why[0], "too few runs") {
		t.Errorf("got %s, %q, want inconclusive for want of runs", c.Verdict, c.Why)
	}
}

// TestGate: a latency fails only if it certainly grew by more than was allowed.
func TestGate(t *testing.T) {
	side := func(each ...time.Duration) (s Side) {
		for _, d := range each {
			s.Runs = append(s.Runs, runWith(result.Pass, d, 0))
		}
		return s
	}
	old := side(1000, 1001, 1002, 1003, 1004)
	for _, x := range []struct {
		new  Side
		want result.Verdict
	}{
		{side(1200, 1201, 1202, 1203, 1204), result.Fail},
		{side(1090, 1091, 1092, 1093, 1094), result.Pass}, // slower, by less
		{side(1000, 1500, 1600, 1700, 1800), result.Pass}, // one is as fast as before, so it is not certain
		{side(500, 501, 502, 503, 504), result.Pass},
	} {
		if c := mustCompare(t, old, x.new,
			CompareOptions{Gate: true, MaxRegression: 0.1}); c.Verdict != x.want {
			t.Errorf("%v: got %s, want %s (%+v)", x.new.Runs[0].Scenarios[0].Latency.Allowed.Corrected.P50,
				c.Verdict, x.want,
				c.Scenarios[0].Latencies[0].Ratio)
		}
		if c := mustCompare(t, old, x.new, CompareOptions{}); c.Verdict != result.Pass {
			t.Errorf("without a gate: got %s, want pass", c.Verdict)
		}
	}
}

// TestVerdicts: a verdict that became worse fails, and one that is no longer reached is inconclusive.
// Scenarios that do not count change nothing.
func TestVerdicts(t *testing.T) {
	pass, fail, open := result.Pass, result.Fail, result.Inconclusive
	for _, x := range []struct {
		old, new  []result.Verdict
		kind      string
		uncounted bool
		change    Change
		want      result.Verdict
	}{
		{[]result.Verdict{pass}, []result.Verdict{pass}, result.Required, false, Same, pass},
		{[]result.Verdict{pass}, []result.Verdict{fail}, result.Required, false, Worse, fail},
		{[]result.Verdict{pass, pass}, []result.Verdict{pass, fail}, result.Required, false, Worse, fail},
		{[]result.Verdict{pass, fail}, []result.Verdict{fail, fail}, result.Required, false, Same, pass},
		{[]result.Verdict{fail}, []result.Verdict{pass}, result.Required, false, Better, pass},
		{[]result.Verdict{open}, []result.Verdict{fail}, result.Required, false, Worse, fail},
		{[]result.Verdict{pass}, []result.Verdict{open}, result.Required, false, Worse, open},
		{[]result.Verdict{pass}, []result.Verdict{open}, result.Required, true, Same, pass},
		{[]result.Verdict{pass}, []result.Verdict{open, pass}, result.Required, false, Same, pass},
		{[]result.Verdict{pass}, []result.Verdict{fail}, result.Recommended, false, Worse, pass},
	} {
		side := func(all []result.Verdict) (s Side) {
			for _, v := range all {
				r := runWith(v, 1e6, 0)
				r.Scenarios[0].Kind = x.kind
				if v == open && x.uncounted {
					r.Scenarios[0].Reason = result.NeedsFailed
				}
				s.Runs = append(s.Runs, r)
			}
			return s
		}
		c := mustCompare(t, side(x.old), side(x.new), CompareOptions{})
		if c.Scenarios[0].Change != x.change || c.Verdict != x.want {
			t.Errorf("%v to %v (%s): got %s, %s, want %s, %s", x.old, x.new, x.kind, c.Scenarios[0].Change,
				c.Verdict, x.change, x.want)
		}
	}
}

// TestMissingScenarios: a missing scenario is not a pass. Two sides without a common scenario are not
// compared.
func TestMissingScenarios(t *testing.T) {
	two, other := runWith(result.Pass, 1e6, 0), runWith(result.Pass, 1e6, 0)
	other.Scenarios[0].ID = "other"
	two.Scenarios = append(two.Scenarios, other.Scenarios[0])
	one := compareSideOf("new", runWith(result.Pass, 1e6, 0))
	if c := mustCompare(t, compareSideOf("old", two), one,
		CompareOptions{}); c.Verdict != result.Inconclusive ||
		len(c.OnlyOld) != 1 {
		t.Errorf("got %s, %q, want inconclusive for the missing one", c.Verdict, c.OnlyOld)
	}
	if c := mustCompare(t, one, compareSideOf("old", two), CompareOptions{}); c.Verdict != result.Pass ||
		len(c.OnlyNew) != 1 {
		t.Errorf("got %s, %q, want a pass with a new one", c.Verdict, c.OnlyNew)
	}
	if _, err := Compare(one, compareSideOf("old", other), CompareOptions{}); err == nil {
		t.Error("sides without a common scenario were compared")
	}
}

// TestParameters: a parameter changed if no value explains both sides. The rate is not compared if the burst
// does not hold.
func TestParameters(t *testing.T) {
	iv := func(lo, hi float64) result.Interval {
		return result.Interval{Lo: lo, Hi: hi, LoSet: true, HiSet: true}
	}
	run := func(burst, rate result.Interval) *result.Run {
		r := runWith(result.Pass, 1e6, 0)
		r.Scenarios[0].Judgement = &result.Judgement{Measured: result.Measured{Burst: burst, Rate: rate}}
		return r
	}
	base := run(iv(20, 20), iv(9.9, 10.1))
	for _, x := range []struct {
		new  []*result.Run
		want []bool
	}{
		{[]*result.Run{run(iv(19, 21), iv(9, 11))}, []bool{false, false}},
		{[]*result.Run{run(iv(20, 20), iv(10.2, 11))}, []bool{false, true}},
		{[]*result.Run{run(iv(19, 21), iv(9, 11)), run(iv(20, 21), iv(10.15, 12))}, []bool{false,
			true}}, // together
		{[]*result.Run{run(iv(21, 21), iv(90, 99))}, []bool{true}},
	} {
		c := mustCompare(t, compareSideOf("old", base), Side{Runs: x.new}, CompareOptions{})
		ps := c.Scenarios[0].Parameters
		if len(ps) != len(x.want) {
			t.Errorf("got %d parameters, want %d", len(ps), len(x.want))
			continue
		}
		for i := range ps {
			if ps[i].Changed != x.want[i] {
				t.Errorf("%s %v to %v: got changed %v, want %v", ps[i].Name, ps[i].Old, ps[i].New,
					ps[i].Changed, x.want[i])
			}
		}
	}
	shared := run(iv(20, 20), iv(9.9, 10.1))
	shared.Scenarios[0].Fresh = false
	if ps := mustCompare(t, compareSideOf("old", base), compareSideOf("new", shared),
		CompareOptions{}).Scenarios[0].Parameters; len(ps) > 0 {
		t.Errorf("what was measured amid other traffic is compared: %v", ps)
	}
}

// TestRanksHoldTheQuantile: in at most 6 % of 2,000 samples, the true quantile lies outside of the order
// statistics.
func TestRanksHoldTheQuantile(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, x := range []struct {
		n int64
		q float64
	}{{10, 0.5}, {100, 0.99}, {500, 0.99}, {1000, 0.5}} {
		out := 0
		for range 2000 {
			below := int64(0) // how many values are below the true quantile
			for range x.n {
				if r.Float64() < x.q {
					below++
				}
			}
			if lo, hi := ranks(x.n, x.q); below < lo || below >= hi {
				out++
			}
		}
		if out > 120 {
			t.Errorf("p%g of %d: outside in %d of 2000", x.q*100, x.n, out)
		}
	}
}
