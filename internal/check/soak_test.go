package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// bands are the longest latencies that are tried, in quarters of the refill (window) time.
var bands = []int{0, 1, 2, 4, 8, 16}

// soakSeed is the seed of every random history here; a failure prints what else names its history.
const soakSeed = 2031

// catches counts the infeasible histories and those caught.
type catches struct{ histories, infeasible, caught int }

func (c *catches) add(other catches) {
	c.histories += other.histories
	c.infeasible += other.infeasible
	c.caught += other.caught
}

func (c catches) share() float64 {
	if c.infeasible == 0 {
		return 1
	}
	return float64(c.caught) / float64(c.infeasible)
}

func (c catches) String() string {
	return fmt.Sprintf("%.2f %% of %d", 100*c.share(), c.infeasible)
}

// floor is the least share that must be caught of the infeasible histories whose latencies are up to half the refill
// (window) time, and of all.
type floor struct{ narrow, all float64 }

// exactFloor is demanded where there is an exact model.
var exactFloor = floor{0.995, 0.98}

// floors are demanded where there is none, each with the reason in its group. They are a little below what two million
// histories measured.
var floors = map[string]floor{
	// A denied request takes what is left of a bucket: the level then depends on the time of the denial.
	"token bucket, counts all":              {0.72, 0.65},
	"token bucket, counts all, mixed costs": {0.74, 0.69},
	// A denied request fills the window: which it was is not modelled.
	"fixed window, first request, counts all":              {0.83, 0.74},
	"fixed window, first request, counts all, mixed costs": {0.88, 0.83},
	// When a ban began is not modelled: any denial may explain any other within the ban.
	"token bucket, ban":              {0.69, 0.60},
	"token bucket, ban, mixed costs": {0.74, 0.70},
	// When batches come is not modelled: any instant may bring one.
	"token bucket, batches":              {0.56, 0.51},
	"token bucket, batches, mixed costs": {0.56, 0.49},
	// The level at the first request is not modelled: one of many.
	"token bucket, starts empty":               {0.99, 0.965},
	"token bucket, starts empty, mixed costs":  {0.92, 0.86},
	"token bucket, start unknown":              {0.86, 0.87},
	"token bucket, start unknown, mixed costs": {0.92, 0.86},
	// When a queue lets a request through is bounded, not modelled.
	"queue":                                  {0.97, 0.955},
	"queue, mixed costs":                     {0.92, 0.86},
	"queue of 3, one undelayed":              {0.985, 0.98},
	"queue of 3, one undelayed, mixed costs": {0.87, 0.83},
	// The clock reads any instant of the last tick; that it ticks at multiples of the tick is not used.
	"token bucket, tick":              {0.74, 0.71},
	"token bucket, tick, mixed costs": {0.79, 0.75},
	"sliding log, tick":               {0.77, 0.73},
	"sliding log, tick, mixed costs":  {0.80, 0.72},
	"fixed window, tick":              {0.81, 0.79},
	"fixed window, tick, mixed costs": {0.77, 0.73},
	// The first request sets the phase, so it is an interval; a silence of one to two windows leaves the rest unjudged.
	"sliding counter, first":              {0.91, 0.88},
	"sliding counter, first, mixed costs": {0.87, 0.80},
}

// TestJudgeNeverAccusesWhatTheOracleExplains is the hard bar: no false alarm, ever. It also asks for the share of the
// infeasible histories that is caught. RLCHECK_SOAK=1 tries some two million histories, RLCHECK_SOAK=N N times as
// many, with other seeds too.
func TestJudgeNeverAccusesWhatTheOracleExplains(t *testing.T) {
	rounds, seeds := soakRounds(40, 4500)
	for name, limit := range smallLimits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, costs := range []bool{false, true} {
				if costs && (limit[0].Full() < 2 || limit[len(limit)-1].Full() < 2) {
					continue
				}
				var narrow, all catches
				var line strings.Builder
				for _, quarters := range bands {
					var c catches
					for seed := range seeds {
						c.add(judgeRandom(t, limit, quarters, rounds, soakSeed+uint64(seed), costs))
					}
					if all.add(c); quarters <= 2 {
						narrow.add(c)
					}
					fmt.Fprintf(&line, "  %g: %s", float64(quarters)/4, c)
				}
				kind := name
				if costs {
					kind += ", mixed costs"
				}
				t.Logf("caught of the infeasible: %s: up to half %s, all %s of %d histories; by latency%s", kind, narrow, all, all.histories, line.String())
				enough(t, kind, narrow, all)
			}
		})
	}
}

// soakRounds returns how many rounds are made, and with how many seeds: few always, many in a soak.
func soakRounds(always, soak int) (rounds, seeds int) {
	rounds, seeds = always, 1
	if testing.Short() {
		rounds = always/4 + 1
	}
	if n := os.Getenv("RLCHECK_SOAK"); n != "" {
		rounds = soak
		_, _ = fmt.Sscan(n, &seeds)
	}
	return rounds, seeds
}

// enough fails where less is caught than promised, as far as the number of histories can tell.
func enough(t *testing.T, kind string, narrow, all catches) {
	t.Helper()
	want, ok := floors[kind]
	if !ok {
		want = exactFloor
	}
	for share, c := range map[float64]catches{want.narrow: narrow, want.all: all} {
		missed, allowed := float64(c.infeasible-c.caught), (1-share)*float64(c.infeasible)
		if missed > allowed+3*math.Sqrt(allowed)+2 { // what chance does to small samples
			t.Errorf("%s: caught %s, want %.1f %%", kind, c, 100*share)
		}
	}
}

// judgeRandom judges random histories of 3 to 8 requests under a limit, and asks the oracle.
func judgeRandom(t *testing.T, limit reference.Limit, quarters, rounds int, seed uint64, costs bool) catches {
	t.Helper()
	c := catches{histories: rounds}
	size := refillTime(limit)
	for round := range rounds {
		r := rand.New(rand.NewPCG(seed, uint64(quarters)<<32|uint64(round)))
		lim, err := reference.NewLimit(knownLimit(r, limit))
		if err != nil {
			t.Fatal(err)
		}
		tl := randomHistory(r, lim, shape{requests: 3 + r.IntN(6), gap: 1 + size, late: size * quarters / 4, costs: costs})
		if failed := accused(t, tl, limit); failed {
			c.caught++
			c.infeasible++
		} else if !feasible(t, tl, limit...) {
			c.infeasible++
		}
		if !sound(t, tl, limit) {
			t.Fatalf("false alarm: seed %d, band %d, round %d, %s", seed, quarters, round, falseAlarm(t, tl, limit))
		}
	}
	return c
}

// accused tells whether the judge fails tl.
func accused(t *testing.T, tl *timeline.Timeline, limit reference.Limit) bool {
	t.Helper()
	j, err := Judge(tl, limit, Options{SkipMeasure: true})
	if err != nil {
		t.Fatal(err)
	}
	return j.Verdict == Fail
}

// sound tells whether tl is accused only if nothing explains it.
func sound(t *testing.T, tl *timeline.Timeline, limit reference.Limit) bool {
	t.Helper()
	return !accused(t, tl, limit) || !feasible(t, tl, limit...)
}

// falseAlarm prints the fewest requests of tl that are accused although they are explained.
func falseAlarm(t *testing.T, tl *timeline.Timeline, limit reference.Limit) string {
	t.Helper()
	small := *tl
	for again := true; again; {
		again = false
		for i := range small.Observations {
			less := small
			less.Observations = slices.Delete(slices.Clone(small.Observations), i, i+1)
			if len(less.Observations) > 0 && !sound(t, &less, limit) {
				small, again = less, true
				break
			}
		}
	}
	j, _ := Judge(&small, limit, Options{SkipMeasure: true}) // it was judged before
	return fmt.Sprintf("%s\nended %d\n%s%+v", limit, small.Header.Ended, draw(&small), j.Partitions)
}
