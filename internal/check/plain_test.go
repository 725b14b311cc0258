package check

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestPlainExplanationsExplain compares plain explanations with the exact search: the search refutes no
// recording that has one. The limiters are random, right or broken, with clocks that tick and drift.
func TestPlainExplanationsExplain(t *testing.T) {
	rounds, seeds := soakRounds(t, 1600, 40_000)
	found, refuted := 0, 0
	for round := range rounds * seeds {
		p, spec, ok := corpusPair(round + 1_000_000)
		if !ok || p.limit.Completes() && !p.limit[0].InFlight() {
			continue
		}
		c := NewCase(history.RecordingOf(p.tl), p.limit, Options{})
		r := rand.New(rand.NewPCG(soakSeed+47, uint64(round)))
		at := make([]int64, len(c.Limit))
		for i, pol := range c.Limit {
			if box, _ := PhasesOf(pol, p.tl.Header); box.To > box.From {
				at[i] = box.From + r.Int64N(box.To-box.From+1)
			}
		}
		for _, part := range c.Parts {
			h := part.Histories[0]
			if len(c.Limit) > 1 {
				h = c.Jointly(part)
			}
			x := search.NewBy(h, c.Limit, at)
			if x == nil {
				continue
			}
			x.Most = 1 << 14
			dead := x.Search() != nil
			if dead {
				refuted++
			}
			if !search.Simply(h, c.Limit, at) {
				continue
			}
			if found++; dead {
				t.Fatalf("round %d, %s at %d: explained and refuted\n%s", round, spec, at, draw(p.tl))
			}
		}
	}
	if least := rounds * seeds / 40; found < least || refuted < least {
		t.Errorf("%d explained plainly, %d refuted, want %d and %d", found, refuted, least, least)
	}
}

// TestLimitOutOfReachIsExplained: a recording in which nothing was denied, as the limit is far away, is not
// searched for long. It has a plain explanation, however many requests overlap.
func TestLimitOutOfReachIsExplained(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for _, spec := range []string{"token-bucket,rate=1000000/s,burst=1000000",
		"sliding-window-log,rate=1000000/s", "leaky-bucket-queue,rate=10000000/s,queue=1000000",
		"fixed-window,rate=1000000/s",
		"fixed-window,rate=1000000/s,align=first", "fixed-window,rate=1000000/s,slots=10",
		"sliding-window-counter,rate=1000000/s",
		"token-bucket,rate=1000000/s,burst=1000000,ban=1s", "gcra,rate=1000000/s,burst=1000000,ttl=100ms",
		"token-bucket,rate=1000000/s,burst=1000000 + fixed-window,rate=1000000/s,phase=300ms"} {
		r := rand.New(rand.NewPCG(soakSeed+53, 1))
		tl, clock := &timeline.Timeline{}, time.Duration(0)
		for i := range 60_000 {
			clock += time.Duration(r.IntN(200_000))
			o := timeline.Observation{Sent: clock, Answered: true, Outcome: timeline.Allowed}
			o.Seq, o.Cost, o.FirstByte = i, 1, clock+time.Duration(r.IntN(5_000_000))
			tl.Observations = append(tl.Observations, o)
		}
		j, err := Judge(tl, mustLimit(t, spec), Options{SkipMeasure: true})
		if err != nil {
			t.Fatal(err)
		}
		if p := j.Partitions[0]; j.Verdict != result.Pass || p.Search.Capped {
			t.Errorf("%s: got %s, search %+v, want a pass and a search that ended", spec, j.Verdict, p.Search)
		}
	}
}

// TestManyAtOnceAreExplained: a right limiter has up to sixty requests of one key in flight. It passes, and
// of most of its recordings the search ends.
func TestManyAtOnceAreExplained(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	seeds := uint64(2)
	if os.Getenv("RLCHECK_SOAK") != "" {
		seeds = 10
	}
	for _, algorithm := range []string{"token-bucket,rate=%d/s,burst=20",
		"fixed-window,rate=%d/s,phase=300ms", "fixed-window,rate=%d/s,align=first"} {
		found, all := 0, 0
		for _, rate := range []int{200, 1800, 2000, 2200} {
			spec := fmt.Sprintf(algorithm, rate)
			p := mustPolicy(t, spec)
			for seed := range seeds {
				late := []int64{4_000_000, 30_000_000}[seed%2]
				tl := &timeline.Timeline{Observations: offeredLate(p, 3000, seed, late)}
				if all++; endsInAPass(t, tl, spec) {
					found++
				}
			}
		}
		if 100*found < 75*all {
			t.Errorf("%s: %d of %d explained, want three quarters of them", algorithm, found, all)
		}
	}
}

// TestLogsOfRightBucketsAreExplained: requests of a client that asks for as much as a bucket gives, each
// decided early in an interval of a tenth of a second, as logs have them, are explained without a search.
func TestLogsOfRightBucketsAreExplained(t *testing.T) {
	limit := mustLimit(t, "token-bucket,rate=50/s,burst=21")
	explained := func(seed uint64) bool {
		r := rand.New(rand.NewPCG(soakSeed+59, seed))
		tl, level, clock := &timeline.Timeline{}, 21.0, 0.0
		for i := range 2000 {
			wait := r.ExpFloat64() / 50
			clock, level = clock+wait, min(21, level+50*wait)
			at := time.Duration(clock * float64(time.Second))
			o := timeline.Observation{Answered: true, Outcome: timeline.Denied}
			if level >= 1 {
				level, o.Outcome = level-1, timeline.Allowed
			}
			o.Seq, o.Cost, o.FirstByte = i, 1, at+time.Duration(100_000_000+r.IntN(20_000_000))
			o.Sent = max(0, at-time.Duration(r.IntN(20_000_000)))
			tl.Observations = append(tl.Observations, o)
		}
		slices.SortStableFunc(tl.Observations,
			func(a, b timeline.Observation) int { return cmp.Compare(a.Sent, b.Sent) })
		h := NewCase(history.RecordingOf(tl), limit, Options{}).Parts[0].Histories[0]
		return search.Simply(h, limit, []int64{0})
	}
	right := 0
	for seed := range uint64(20) {
		if explained(seed) {
			right++
		}
	}
	if right < 15 {
		t.Errorf("%d of 20 right buckets explained, want 15", right)
	}
}

// TestWhatIsPlainNeedsNoSearch: the answers of a right limiter to one request after the other are explained
// before any search, be they few or many.
func TestWhatIsPlainNeedsNoSearch(t *testing.T) {
	for _, spec := range []string{"token-bucket,rate=1/10us,burst=3", "fixed-window,rate=5/40us,align=first",
		"sliding-window-log,rate=4/40us", "sliding-window-counter,rate=4/40us,align=first"} {
		limit := mustLimit(t, spec)
		for _, n := range []int{30, 3000} {
			j, err := Judge(countedWithASilence(t, limit, n, 0), limit, Options{SkipMeasure: true})
			if err != nil || j.Verdict != result.Pass || j.Partitions[0].Search.Visited > 0 {
				t.Errorf("%s, %d requests: got %s after %d decisions of a search, want a pass after none",
					spec, n, answer(j, err), j.Partitions[0].Search.Visited)
			}
		}
	}
}
