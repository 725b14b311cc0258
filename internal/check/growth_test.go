package check

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// growingLimits have bans that grow.
var growingLimits = []string{
	"token-bucket,rate=1/10ns,burst=2,ban=8ns,growth=2,max=40ns",
	"sliding-window-log,rate=2/20ns,ban=7ns,growth=3,max=30ns",
	"fixed-window,rate=2/15ns,phase=4ns,ban=5ns,growth=2,max=21ns",
	"fixed-window,rate=2/15ns,align=first,ban=9ns,growth=2,max=36ns",
	"sliding-window-counter,rate=3/15ns,phase=3ns,ban=6ns,growth=4,max=50ns",
	"gcra,rate=1/8ns,burst=1,ban=9ns,growth=2,max=9ns,tick=4ns",
}

// TestGrowingBansAgainstTheOracle compares with the plain oracle: no false alarm, and most of what is
// infeasible is caught, although the bounds alone judge.
func TestGrowingBansAgainstTheOracle(t *testing.T) {
	rounds, seeds := soakRounds(t, 400, 20000)
	var c catches
	for _, text := range growingLimits {
		limit := mustLimit(t, text)
		exact := mustLimit(t, text)
		lag := int64(exact[0].Tick)
		exact[0].Tick, exact[0].TickSet = 0, false
		lim, err := reference.NewLimit(exact)
		if err != nil {
			t.Fatal(err)
		}
		for round := range rounds * seeds {
			r := rand.New(rand.NewPCG(soakSeed+41, uint64(round)))
			late := []int{0, 2, 4, 8}[r.IntN(4)]
			tl := randomHistory(r, lim, shape{requests: 4 + r.IntN(5), gap: 12, late: late})
			j, err := Judge(tl, limit, Options{SkipMeasure: true})
			if err != nil {
				t.Fatal(err)
			}
			possible := (&plain{lim, lag, requestsOf(tl.Observations, tl.End(), 0),
				map[plainNode]bool{}}).search(plainNode{read: -lag, state: lim.Init()})
			c.take(t, fmt.Sprintf("%s, round %d", text, round), j, tl, possible, late <= 4)
		}
	}
	c.caughtMost(t, rounds/10, 0.9)
}

// TestLockoutsThatGrow: a client that asks each 100 ms. A right limiter passes, and one whose bans stay
// short, or are long from the beginning, fails.
func TestLockoutsThatGrow(t *testing.T) {
	const declared = "fixed-window,rate=2/s,ban=1s,growth=2,max=1m"
	for _, c := range []struct {
		by      string
		verdict result.Verdict
	}{
		{declared, result.Pass},
		{"fixed-window,rate=2/s,ban=1s", result.Fail},
		{"fixed-window,rate=2/s,ban=1m", result.Fail},
		{"fixed-window,rate=2/s,ban=1s,growth=3,max=1m", result.Fail},
		{"fixed-window,rate=2/s,ban=1s,growth=2,max=4s", result.Fail},
	} {
		lim, err := reference.NewLimit(mustLimit(t, c.by))
		if err != nil {
			t.Fatal(err)
		}
		state, tl := lim.Init(), &timeline.Timeline{Header: timeline.Header{Started: time.Unix(100, 0)}}
		for i := range 400 {
			at := time.Duration(i) * 100 * time.Millisecond
			var d reference.Decision
			state, d = lim.Step(state, at, 1)
			o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at,
				FirstByte: at + 5*time.Millisecond, Answered: true, Outcome: timeline.Denied}
			if d.Allow {
				o.Outcome = timeline.Allowed
			}
			tl.Observations = append(tl.Observations, o)
		}
		tl.Header.Ended = tl.End()
		j, err := Judge(tl, mustLimit(t, declared), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if j.Verdict != c.verdict {
			t.Errorf("%s: got %s %q, want %s", c.by, j.Verdict, j.Detail, c.verdict)
		}
		t.Log(c.by, j.Verdict, j.Partitions[0].Findings)
	}
}

// TestRightGrowingBansAreNeverAccused judges limiters whose bans grow under random traffic of some hundred
// requests.
func TestRightGrowingBansAreNeverAccused(t *testing.T) {
	rounds, seeds := soakRounds(t, 200, 20000)
	verdicts := map[result.Verdict]int{}
	for round := range rounds * seeds {
		r := rand.New(rand.NewPCG(soakSeed+42, uint64(round)))
		limit := mustLimit(t, growingLimits[r.IntN(len(growingLimits))])
		lim, err := reference.NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		tl := honestTraffic(r, lim, limit)
		if r.IntN(4) == 0 {
			cutAmid(r, tl)
		}
		o := Options{SkipMeasure: r.IntN(4) > 0, Hint: r.IntN(9) == 0, Shared: r.IntN(9) == 0,
			Conformance: []result.Conformance{"", "", result.UpperBound, result.LowerBound}[r.IntN(4)]}
		j, err := Judge(tl, limit, o)
		if err != nil {
			t.Fatal(err)
		}
		if verdicts[j.Verdict]++; j.Verdict == result.Fail {
			t.Errorf("round %d, %s: accused: %+v", round, limit, j.Partitions)
		}
		if s := streamed(t, tl, limit, o, anyBeginning(r)); s.Verdict == result.Fail {
			t.Errorf("round %d, %s: the stream accused: %+v", round, limit, s.Partitions)
		}
	}
	t.Logf("%v", verdicts)
}
