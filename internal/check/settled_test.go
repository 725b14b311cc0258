package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// settledSpecs are limits that settle costs. It is known to the nanosecond when a request is complete.
var settledSpecs = []string{
	"fixed-window,rate=3/50ns,phase=3ns,charge=completion,hold=2ns..2ns",
	"fixed-window,rate=4/30ns,phase=3ns,charge=completion,hold=1ns..,linger=0s",
	"fixed-window,rate=3/40ns,align=unknown,charge=completion,hold=1ns..1ns",
	"sliding-window-log,rate=3/40ns,charge=completion,hold=2ns..2ns",
	"sliding-window-log,rate=2/30ns,charge=completion,hold=1ns..,linger=0s",
	"sliding-window-counter,rate=3/40ns,phase=3ns,charge=completion,hold=1ns..1ns",
	"token-bucket,rate=1/9ns,burst=3,charge=completion,hold=2ns..2ns",
	"gcra,rate=2/15ns,burst=4,charge=completion,hold=1ns..,linger=0s",
	"token-bucket,rate=1/9ns,burst=4,reserve=2,hold=2ns..2ns",
	"leaky-bucket,rate=2/15ns,burst=5,reserve=3,hold=1ns..,linger=0s",
	"fixed-window,rate=4/40ns,phase=3ns,reserve=2,hold=2ns..2ns",
	"fixed-window,rate=5/30ns,phase=3ns,reserve=3,hold=1ns..,linger=0s",
	"fixed-window,rate=3/50ns,align=first,charge=completion,hold=2ns..2ns",
	"fixed-window,rate=4/30ns,align=first,charge=completion,hold=1ns..,linger=0s",
	"fixed-window,rate=4/40ns,align=first,reserve=2,hold=2ns..2ns",
	"fixed-window,rate=5/30ns,align=first,reserve=3,hold=1ns..,linger=0s",
	"fixed-window,rate=3/40ns,phase=3ns,unit=request + token-bucket,rate=1/9ns,burst=3,charge=completion," +
		"hold=1ns..1ns",
}

// TestSettledCostsAgainstTheOracle is the bar for limits that settle costs: no false alarm, and at least 98 %
// of the infeasible histories are caught where intervals are narrow, and each outcome, cost and end is known.
// RLCHECK_SOAK=1 tries a million histories.
func TestSettledCostsAgainstTheOracle(t *testing.T) {
	rounds, seeds := soakRounds(t, 60, 26000)
	var whole, narrow catches
	for _, text := range settledSpecs {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var all catches
		for _, late := range []int{0, 1, 4} {
			for seed := range seeds {
				for round := range rounds {
					r := rand.New(rand.NewPCG(soakSeed+uint64(seed), uint64(late)<<32|uint64(round)))
					lim, err := reference.NewLimit(knownLimit(r, limit))
					if err != nil {
						t.Fatal(err)
					}
					tl := servedApart(r, lim, limit, late, true, func() int { return r.IntN(16) })
					c := judgeServed(t, tl, limit, rounds < 100 || round%8 == 0)
					vague := func(o timeline.Observation) bool {
						return o.Outcome == timeline.Unknown || o.Cost == timeline.CostUnknown || o.Done == 0
					}
					if all.add(c); late < 4 && !slices.ContainsFunc(tl.Observations, vague) {
						narrow.add(c)
					}
				}
			}
		}
		whole.add(all)
		t.Logf("caught %s in %d histories: %s", all, all.histories, text)
	}
	t.Logf("caught %s, of narrow ones %s, in %d histories", whole, narrow, whole.histories)
	if narrow.infeasible > 500 && narrow.share() < 0.98 || narrow.share() < 0.95 {
		t.Errorf("caught %s of the infeasible histories with narrow intervals, want 98 %%", narrow)
	}
}

// TestOvershootIsBounded: with at most k requests in flight of at most c units each, a limiter that settles
// admits at most quota - 1 + k*c units, and one that reserves e at most quota + k*max(0, c-e). Nothing is
// given back by time here. Both bounds are reached.
func TestOvershootIsBounded(t *testing.T) {
	for text, reserve := range map[string]int64{
		"fixed-window,rate=%d/1h,charge=completion":            0,
		"token-bucket,rate=1/9000h,burst=%d,charge=completion": 0,
		"sliding-window-log,rate=%d/1h,charge=completion":      0,
		"fixed-window,rate=%d/1h,reserve=3":                    3, "gcra,rate=1/9000h,burst=%d,reserve=3": 3,
	} {
		reached := map[string]bool{}
		for seed := range uint64(fewer(t, 3000)) {
			r := rand.New(rand.NewPCG(seed, 5))
			quota, k, c := 3+r.Int64N(8), 1+r.IntN(6), 1+r.Int64N(7)
			most := quota - 1 + int64(k)*c
			if reserve > 0 {
				most = quota + int64(k)*max(0, c-reserve)
			}
			if got := spent(t, fmt.Sprintf(text, quota), r, k, c); got > most {
				t.Fatalf("%s, quota %d, %d in flight of at most %d: spent %d, want at most %d", text, quota,
					k, c, got, most)
			} else if got == most {
				reached[text] = true
			}
		}
		if !reached[text] {
			t.Errorf("%s: no run reached the bound", text)
		}
	}
}

// spent returns what a limiter admits of random requests, at most k in flight, at most c units each.
func spent(t *testing.T, text string, r *rand.Rand, k int, c int64) (units int64) {
	t.Helper()
	l, err := reference.NewLimit(mustLimit(t, text))
	if err != nil {
		t.Fatal(err)
	}
	state := l.Init()
	var flying []int64
	for at := range 80 {
		if len(flying) < k && r.IntN(3) > 0 {
			var d reference.Decision
			if state, d = l.Step(state, time.Duration(at), 1); d.Allow {
				cost := c - r.Int64N(c+1)*int64(r.IntN(2)) // often the largest
				flying, units = append(flying, cost), units+cost
			}
		}
		if len(flying) > 0 && r.IntN(2+r.IntN(9)) == 0 {
			i := r.IntN(len(flying))
			state = reference.Complete(l, state, time.Duration(at), flying[i])
			flying = append(flying[:i], flying[i+1:]...)
		}
	}
	return units
}

// TestWhatASettlingLimiterMayDo judges recordings of limiters that cannot know the cost of a request before
// its answer is complete.
func TestWhatASettlingLimiterMayDo(t *testing.T) {
	const ms = time.Millisecond
	type asked struct {
		at, done int64
		cost     int64
		allowed  bool
	}
	const log, bucket = "sliding-window-log,rate=100/10s,charge=completion,linger=1ms",
		"token-bucket,rate=1/s,burst=100,charge=completion,linger=1ms"
	for name, c := range map[string]struct {
		limit string
		asked []asked
		want  result.Verdict
		says  string
	}{
		"the last request overshoots": {log,
			[]asked{{0, 2, 60, true}, {100, 102, 60, true}, {200, 201, 60, false}}, result.Pass, ""},
		"one request exceeds the quota": {log, []asked{{0, 2, 1200, true}, {100, 101, 1, false}}, result.Pass,
			""},
		"nothing is left": {log,
			[]asked{{0, 2, 60, true}, {100, 102, 60, true}, {200, 201, 60, true}}, result.Fail,
			"request #2 was allowed although less than one unit was left: " +
				"at least 120 of 100 units were charged before it"},
		"one unit is left": {log, []asked{{0, 2, 99, true}, {100, 102, 60, false}}, result.Fail,
			"request #1 denied at 0.100 s .. 0.102 s; at most 99 of 100 units could have been charged"},
		"an answer costs nothing": {log, []asked{{0, 2, 0, true}, {100, 102, 0, false}}, result.Fail,
			"request #1 denied at 0.100 s .. 0.102 s; at most 0 of 100 units could have been charged"},
		"a cost that was not told explains a denial": {log,
			[]asked{{0, 2, timeline.CostUnknown, true}, {100, 102, 1, false}}, result.Pass, ""},
		"a cost that was not told accuses no admission": {log,
			[]asked{{0, 2, 99, true}, {100, 102, timeline.CostUnknown, true}, {200, 202, 1, true}},
			result.Pass, ""},
		"a debt lasts": {bucket, []asked{{0, 2, 300, true}, {199_000, 199_001, 1, false}}, result.Pass, ""},
		"a debt ends": {bucket, []asked{{0, 2, 300, true}, {202_000, 202_001, 1, false}}, result.Fail,
			"request #1 denied at 202.000 s .. 202.001 s; at most 99 of 100 units could have been charged"},
		"a debt is forgotten": {bucket, []asked{{0, 2, 300, true}, {150_000, 150_001, 1, true}}, result.Fail,
			"request #1 was allowed although less than one unit was left: " +
				"at least 149 of 100 units were charged before it"},
		"all in flight pass": {log, []asked{{0, 900, 90, true}, {100, 902, 90, true}, {200, 903, 90, true},
			{1000, 1001, 1, false}}, result.Pass, ""},
		"a reserve is given back": {"token-bucket,rate=1/h,burst=100,reserve=60,linger=1ms",
			[]asked{{0, 100, 10, true}, {50, 51, 1, false}, {200, 300, 90, true}}, result.Pass, ""},
		"a reserve is kept": {"token-bucket,rate=1/h,burst=100,reserve=60,linger=1ms",
			[]asked{{0, 100, 10, true}, {200, 201, 1, false}}, result.Fail,
			"request #1 of cost 60 denied at 0.200 s .. 0.201 s; at most 10 of 100 units could have been " +
				"charged or reserved"},
		"a reserve is ignored": {"fixed-window,rate=100/1h,phase=0s,reserve=60,linger=1ms",
			[]asked{{0, 1000, 60, true}, {100, 1001, 60, true}}, result.Fail,
			"request #1 was allowed although less than the 60 units that it reserves were left: at " +
				"least 60 of 100 units were charged or reserved before it"},
		"a denial of unknown cost may not have fitted": {"fixed-window,rate=100/1h,phase=0s",
			[]asked{{0, 2, 60, true}, {100, 102, timeline.CostUnknown, false}}, result.Pass, ""},
		"five at once spend 663 of 100 (BerriAI/litellm#18730)": {
			"fixed-window,rate=100/1m,phase=0s,reserve=58,linger=1ms",
			[]asked{{0, 1000, 58, true}, {1, 1000, 80, true}, {2, 1000, 175, true}, {3, 1000, 175, true},
				{4, 1000, 175, true}}, result.Fail, "request #4 was allowed although less than the 58 " +
				"units that it reserves were left: at least 58 of 100 units were charged or reserved " +
				"before it"},
		"a request that counts itself keeps its unit": {
			"fixed-window,rate=100/1m,phase=0s,reserve=1,linger=1ms",
			[]asked{{0, 2, 49, true}, {100, 102, 49, true}, {200, 202, 1, false}}, result.Pass, ""},
		"it keeps no more": {"fixed-window,rate=100/1m,phase=0s,reserve=1,linger=1ms",
			[]asked{{0, 2, 49, true}, {100, 102, 48, true}, {200, 202, 1, false}}, result.Fail,
			"request #2 denied at 0.200 s .. 0.201 s; at most 99 of 100 units could have been " +
				"charged or reserved"},
		"without a reserve they are in debt (BerriAI/litellm#18730)": {
			"fixed-window,rate=100/1m,phase=0s,charge=completion,linger=1ms",
			[]asked{{0, 1000, 58, true}, {1, 1000, 80, true}, {2, 1000, 175, true}, {3, 1000, 175, true},
				{4, 1000, 175, true}, {1100, 1101, 1, false}}, result.Pass, ""},
		"150 tokens count as one (wso2/api-platform#2932)": {
			"fixed-window,rate=30/1h,phase=0s,charge=completion,linger=1ms",
			[]asked{{0, 2, 150, true}, {100, 101, 150, true}}, result.Fail,
			"request #1 was allowed although less than one unit was left: at least 150 of 30 units were " +
				"charged before it"},
		"requests are counted beside costs": {"fixed-window,rate=2/1h,phase=0s,unit=request + " + log,
			[]asked{{0, 2, 10, true}, {100, 102, 10, true}, {200, 201, 10, false}}, result.Pass, ""},
		"requests are not counted": {"fixed-window,rate=2/1h,phase=0s,unit=request + " + log,
			[]asked{{0, 2, 10, true}, {100, 102, 10, true}, {200, 202, 10, true}}, result.Fail,
			"3 requests allowed within 0.202 s, in 1 window of 1h0m0s; at most 2 are possible"},
	} {
		t.Run(name, func(t *testing.T) {
			tl := &timeline.Timeline{}
			for i, a := range c.asked {
				o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: a.cost}, Answered: true,
					Sent: time.Duration(a.at) * ms, FirstByte: time.Duration(a.at+1) * ms,
					Done: time.Duration(a.done) * ms, Outcome: timeline.Denied}
				if a.allowed {
					o.Outcome = timeline.Allowed
				}
				if strings.Contains(c.says, "102 s") || strings.Contains(c.says, "0.202 s") {
					o.FirstByte = o.Done
				}
				tl.Observations = append(tl.Observations, o)
			}
			tl.Header.Ended = tl.End()
			j, err := Judge(tl, mustLimit(t, c.limit), Options{SkipMeasure: true})
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, f := range j.Partitions[0].Findings {
				said = f.Text
			}
			if j.Verdict != c.want || said != c.says {
				t.Errorf("got %s: %q, want %s: %q", j.Verdict, said, c.want, c.says)
			}
		})
	}
}
