package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// bands are the longest latencies that are tried, in quarters of the refill time or of the window.
var bands = []int{0, 1, 2, 4, 8, 16}

// soakSeed is the seed of every random history here. A failure prints what else identifies its history.
const soakSeed = 2031

// catches counts histories, those that are infeasible, and the infeasible ones that the judge caught.
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

// take counts the judgement of a history, if it counts, and fails the test where an oracle explains what the
// judge accuses. name says which history it is.
func (c *catches) take(t *testing.T, name string, j *result.Judgement, tl *timeline.Timeline,
	possible, counts bool) {
	t.Helper()
	if possible && j.Verdict == result.Fail {
		t.Fatalf("%s: accused, but the oracle explains it:\n%s\n%+v", name, draw(tl),
			j.Partitions[0].Findings)
	}
	if c.histories++; !possible && counts {
		if c.infeasible++; j.Verdict == result.Fail {
			c.caught++
		}
	}
}

// caughtMost fails the test where fewer than least histories were infeasible, or less than a share of them
// was caught.
func (c *catches) caughtMost(t *testing.T, least int, share float64) {
	t.Helper()
	t.Logf("caught %d of %d", c.caught, c.infeasible)
	if c.infeasible < least || c.share() < share {
		t.Errorf("caught %d of %d infeasible recordings", c.caught, c.infeasible)
	}
}

// floor is the least share of the infeasible histories that must be caught. narrow is for latencies up to
// half the refill time or window, all for any latency.
type floor struct{ narrow, all float64 }

// The shares that must be caught: under a limit that has an exact model, and under one that is judged by its
// bound alone.
var (
	demanded        = floor{0.995, 0.98}
	demandedOfBound = floor{0.6, 0.55}
)

// demandedOf returns the share that must be caught under a limit. Limits that are told of completions
// have no exact model.
func demandedOf(limit spec.Limit) floor {
	if limit.Completes() {
		return demandedOfBound
	}
	return demanded
}

// TestJudgeNeverAccusesWhatTheOracleExplains is the hard bar: no false alarm, ever. It also demands a share
// of the infeasible histories that must be caught. RLCHECK_SOAK=1 tries 20,400 histories of every line, some
// four millions. RLCHECK_SOAK=N tries N times as many, with other seeds too, and RLCHECK_SOAK=0.3 a part of
// them.
func TestJudgeNeverAccusesWhatTheOracleExplains(t *testing.T) {
	rounds, seeds := soakRounds(t, 20, 3400)
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
						c.add(judgeRandom(t, limit, quarters, rounds, soakSeed+uint64(seed), costs, 1))
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
				t.Logf("caught of the infeasible: %s: up to half %s, all %s of %d histories; by latency%s",
					kind, narrow, all, all.histories, line.String())
				enough(t, kind, demandedOf(limit), narrow, all)
			}
		})
	}
}

// fewer is n in a soak, half of it otherwise, and about a sixteenth under -short (the race detector makes
// everything ten times as slow). A test that calls it says on failure how it is run again.
func fewer(t testing.TB, n int) int {
	t.Helper()
	saysReplay(t)
	switch {
	case os.Getenv("RLCHECK_SOAK") != "":
		return n
	case testing.Short():
		return n/16 + 1
	}
	return (n + 1) / 2
}

// soakRounds returns the number of rounds and of seeds: `always` rounds by default, `soak` rounds in a soak.
// A value of RLCHECK_SOAK below 1 takes a share of these.
func soakRounds(t testing.TB, always, soak int) (rounds, seeds int) {
	t.Helper()
	rounds, seeds = fewer(t, always), 1
	if n := os.Getenv("RLCHECK_SOAK"); n != "" {
		share := 1.0
		_, _ = fmt.Sscan(n, &share)
		rounds, seeds = int(math.Ceil(float64(soak)*min(share, 1))), max(int(share), 1)
	}
	return rounds, seeds
}

// enough fails if less is caught than demanded. The seeds are fixed, so that every run has the same numbers.
func enough(t *testing.T, kind string, least floor, narrow, all catches) {
	t.Helper()
	for share, c := range map[float64]catches{least.narrow: narrow, least.all: all} {
		if least == demandedOfBound && c.infeasible < 20 { // too few to tell
			continue
		}
		if c.share() < share {
			t.Errorf("%s: caught %s, want %.1f %%", kind, c, 100*share)
		}
	}
}

// sayReplay holds the names of the tests for which saysReplay was called.
var sayReplay sync.Map

// saysReplay makes a test that fails print the command that runs it again. All seeds are fixed, so that this
// command meets the same histories.
func saysReplay(t testing.TB) {
	if _, twice := sayReplay.LoadOrStore(t.Name(), true); twice {
		return
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(replay(t))
		}
	})
}

// replay is the command that runs a test again in the same way.
func replay(t testing.TB) string {
	parts := strings.Split(t.Name(), "/")
	for i := range parts {
		parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
	}
	command := fmt.Sprintf("go test ./internal/check -count=1 -run '%s'", strings.Join(parts, "/"))
	if testing.Short() {
		command += " -short"
	}
	if soak := os.Getenv("RLCHECK_SOAK"); soak != "" {
		command = "RLCHECK_SOAK=" + soak + " " + command
	}
	return "replay: " + command
}

// judgeRandom judges random histories of 3 to 8 requests under a limit. It asks the oracle about every
// history that is accused. About the others it asks only for one in each `every`, since that takes long. The
// share that is caught is counted among these.
func judgeRandom(t *testing.T, limit spec.Limit, quarters, rounds int, seed uint64, costs bool,
	every int) catches {
	t.Helper()
	c := catches{histories: rounds}
	size := refillTime(limit)
	for round := range rounds {
		r := rand.New(rand.NewPCG(seed, uint64(quarters)<<32|uint64(round)))
		lim, err := reference.NewLimit(knownLimit(r, limit))
		if err != nil {
			t.Fatal(err)
		}
		tl := randomHistory(r, lim, shape{requests: 3 + r.IntN(6), gap: 1 + size, late: size * quarters / 4,
			costs: costs})
		failed, asked := accused(t, tl, limit), round%every == 0
		if asked && failed {
			c.caught++
		}
		if !failed && !asked {
			continue
		}
		switch explained := feasible(t, tl, limit...); {
		case !explained && asked:
			if c.infeasible++; !failed {
				t.Logf("missed: seed %d, band %d, round %d, %s\n%s", seed, quarters, round, limit, draw(tl))
			}
		case explained && failed:
			t.Fatalf("false alarm: seed %d, band %d, round %d, %s", seed, quarters, round,
				falseAlarm(t, tl, limit))
		}
	}
	return c
}

// accused tells whether the judge fails tl.
func accused(t *testing.T, tl *timeline.Timeline, limit spec.Limit) bool {
	t.Helper()
	j, err := Judge(tl, limit, Options{SkipMeasure: true})
	if err != nil {
		t.Fatal(err)
	}
	return j.Verdict == result.Fail
}

// sound tells whether tl has no explanation, or is not accused.
func sound(t *testing.T, tl *timeline.Timeline, limit spec.Limit) bool {
	t.Helper()
	return !accused(t, tl, limit) || !feasible(t, tl, limit...)
}

// falseAlarm prints the fewest requests of tl that are accused although an explanation exists.
func falseAlarm(t *testing.T, tl *timeline.Timeline, limit spec.Limit) string {
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
