package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// clockLimits are limits whose windows follow the wall clock.
func clockLimits() map[string]spec.Limit {
	out := map[string]spec.Limit{}
	for name, a := range map[string]spec.Algorithm{"fixed window": spec.FixedWindow,
		"sliding counter": spec.SlidingWindowCounter} {
		p := smallPolicy(a, 2, 20)
		p.Align = spec.AlignClock
		out[name] = spec.Limit{p}
		p.Rate.N = 3
		out[name+", quota 3"] = spec.Limit{p}
		p.Count = spec.CountAll
		out[name+", quota 3, counts all"] = spec.Limit{p}
	}
	out["fixed window + bucket"] = append(smallLimits()["token bucket"], out["fixed window"]...)
	return out
}

// TestJudgeNeverAccusesPartitionsOfOneClock: several partitions share the phase of the wall clock. That is
// known up to an error, or not at all. Observers with clocks of their own widen the intervals.
func TestJudgeNeverAccusesPartitionsOfOneClock(t *testing.T) {
	rounds, seeds := soakRounds(t, 60, 6000)
	for name, limit := range clockLimits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, clock := range []struct {
				name            string
				known           bool
				wall, observers int64
			}{
				{"known", true, 0, 0}, {"known up to 3 ns", true, 3, 0}, {"known up to 9 ns", true, 9, 0},
				{"known up to 30 ns", true, 30, 0}, {"unknown", false, 0, 0},
				{"known up to 3 ns, two observers", true, 3, 2},
			} {
				var c catches
				for seed := range seeds {
					for round := range rounds {
						r := rand.New(rand.NewPCG(soakSeed+uint64(seed), uint64(round)))
						h := timeline.Header{WallError: time.Duration(clock.wall),
							ClockError: time.Duration(clock.observers)}
						offset := 100 + r.Int64N(1000)
						if clock.known {
							h.Started = time.Unix(0, offset)
						}
						error := int64(0)
						if clock.wall > 0 {
							error = r.Int64N(2*clock.wall+1) - clock.wall
						}
						tl := partitions(t, r, limit, h, offset+error)
						c.histories++
						if feasible(t, tl, limit...) {
							if accused(t, tl, limit) {
								t.Fatalf("false alarm: clock %s, seed %d, round %d, %s", clock.name,
									soakSeed+seed, round, falseAlarm(t, tl, limit))
							}
							continue
						}
						c.infeasible++
						if accused(t, tl, limit) {
							c.caught++
						}
					}
				}
				t.Logf("clock %s: caught %s infeasible in %d histories", clock.name, c, c.histories)
				if c.infeasible == 0 || c.caught == 0 {
					t.Errorf("clock %s: caught %d of %d in %d histories: nothing was tried", clock.name,
						c.caught, c.infeasible, c.histories)
				}
			}
		})
	}
}

// partitions makes a recording of two or three partitions. Their windows begin at multiples of the window by
// a wall clock, which shows `clock` at the zero of the recording.
func partitions(t *testing.T, r *rand.Rand, limit spec.Limit, h timeline.Header,
	clock int64) *timeline.Timeline {
	t.Helper()
	known := slices.Clone(limit)
	for i := range known {
		if p := &known[i]; p.Windowed() {
			p.Align = spec.AlignPhase
			p.PhaseFrom = time.Duration(history.Mod(-clock, int64(p.ShortestWindow())))
			p.PhaseTo = p.PhaseFrom
		}
	}
	lim, err := reference.NewLimit(known)
	if err != nil {
		t.Fatal(err)
	}
	tl := &timeline.Timeline{Header: h}
	for k := range 2 + r.IntN(2) {
		one := randomHistory(r, lim,
			shape{requests: 2 + r.IntN(3), gap: 21, late: []int{0, 3, 10, 30}[r.IntN(4)]})
		for _, o := range one.Observations {
			o.Partition = fmt.Sprintf("k%d", k)
			tl.Observations = append(tl.Observations, o)
		}
	}
	slices.SortStableFunc(tl.Observations,
		func(a, b timeline.Observation) int { return int(a.Sent - b.Sent) })
	for i := range tl.Observations {
		tl.Observations[i].Seq = i
	}
	tl.Header.Ended = tl.End()
	return tl
}
