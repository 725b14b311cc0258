package check

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestSearchIsReproducible: a search tries the same decisions in every run.
func TestSearchIsReproducible(t *testing.T) {
	t.Parallel()
	for _, spec := range benchSpecs {
		p := mustPolicy(t, spec)
		obs := offered(p, 150, 3)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range obs {
			if r.IntN(8) == 0 {
				obs[i].Outcome = timeline.Unknown
			}
		}
		h := newHistory(obs, history.Widening{}, int64((&timeline.Timeline{Observations: obs}).End()))
		first := 0
		for run := range 3 {
			x := search.New(h, p, int64(p.PhaseFrom))
			if x == nil {
				break
			}
			x.Search()
			if run == 0 {
				first = x.Visited
			}
			if x.Visited != first || first < len(obs) {
				t.Errorf("%s: run %d tried %d decisions, the first run %d", spec, run, x.Visited, first)
			}
		}
	}
}

// TestFewBranchesExplain judges right limiters with very many requests in flight, some of them lost. An
// explanation is found though there are too many branches to follow all.
func TestFewBranchesExplain(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"token-bucket,rate=1000/s,burst=10", "token-bucket,rate=1000/s,burst=100",
		"sliding-window-counter,rate=20/20ms"} {
		p := mustPolicy(t, spec)
		obs := offeredLate(p, 400, 1, 80_000_000)
		for i := range obs {
			if i%50 == 49 {
				obs[i].Outcome = timeline.Unknown
			}
		}
		x := search.New(newHistory(obs, history.Widening{},
			int64((&timeline.Timeline{Observations: obs}).End())), p, 0)
		if x.Search() != nil || x.Limited || x.Visited > x.Most {
			t.Errorf("%s: %d decisions were tried, the cap was reached: %v", spec, x.Visited, x.Limited)
		}
	}
}

// TestADeniedRequestOpensAWindow: a request that costs more than the quota is denied, and its units fill a
// window from its decision on. That may be as late as 50 ns, so that the denial of the next request is right.
func TestADeniedRequestOpensAWindow(t *testing.T) {
	p := mustPolicy(t, "fixed-window,rate=2/100ns,align=first,refresh=admitted,count=all")
	denied := func(seq int, sent, first time.Duration, cost int64) timeline.Observation {
		return timeline.Observation{Arrival: timeline.Arrival{Seq: seq, Cost: cost}, Sent: sent,
			FirstByte: first, Answered: true, Outcome: timeline.Denied}
	}
	obs := []timeline.Observation{denied(1, 0, 50, 3), denied(2, 120, 120, 1)}
	x := search.New(newHistory(obs, history.Widening{}, 120), p, 0)
	if br := x.Search(); br != nil || x.Limited {
		t.Errorf("%v, the cap was reached: %v", br, x.Limited)
	}
}

// TestFewBranchesExplainNothingElse: what a search of few branches explains, a search of all branches
// explains too.
func TestFewBranchesExplainNothingElse(t *testing.T) {
	t.Parallel()
	explained, lost := 0, 0
	for name, limit := range everySmallLimit() {
		r := rand.New(rand.NewPCG(3, 37))
		for round := range fewer(t, 20) {
			known := knownLimit(r, limit)
			lim, err := reference.NewLimit(known)
			if err != nil {
				t.Fatal(err)
			}
			tl := randomHistory(r, lim,
				shape{requests: 8, gap: 12, late: r.IntN(60), costs: limit[0].Full() > 1 && round%2 == 0})
			h := newHistory(tl.Observations,
				history.Widen(tl.Header, known[0].Tick, known[0].TickSet),
				int64(tl.End()))
			at := make([]int64, len(known))
			for i := range known {
				at[i] = int64(known[i].PhaseFrom)
			}
			few, all := search.NewBy(h, known, at), search.NewBy(h, known, at)
			if few == nil {
				break
			}
			got, want := few.Sweep(1+round%2) == nil, all.Sweep(0) == nil
			switch {
			case got && !want && !few.Limited:
				t.Fatalf("%s: few branches explain what all do not:\n%s\n%s", name, known, draw(tl))
			case got:
				explained++
			case want:
				lost++
			}
		}
	}
	if explained < 50 || lost < 5 {
		t.Errorf("%d explained, %d not found: one side was not tried", explained, lost)
	}
}

// TestSearchIsSoundUnderItsCap: a search that has too many branches joins some of them. What it refutes is
// infeasible all the same.
func TestSearchIsSoundUnderItsCap(t *testing.T) {
	t.Parallel()
	refuted, left := 0, 0
	rich := richProducts()
	for name, limit := range everySmallLimit() {
		r, n := rand.New(rand.NewPCG(3, 19)), 8
		if rich[name] != nil { // whose oracle is slow
			n = 5
		}
		for round := range max(fewer(t, 15), 4) {
			known := knownLimit(r, limit)
			lim, err := reference.NewLimit(known)
			if err != nil {
				t.Fatal(err)
			}
			tl := randomHistory(r, lim,
				shape{requests: n, gap: 12, late: 3*n + r.IntN(60), costs: limit[0].Full() > 1 &&
					round%2 == 0})
			h := newHistory(tl.Observations,
				history.Widen(tl.Header, known[0].Tick, known[0].TickSet),
				int64(tl.End()))
			at := make([]int64, len(known))
			for i := range known {
				at[i] = int64(known[i].PhaseFrom)
			}
			x := search.NewBy(h, known, at)
			if x == nil {
				break
			}
			x.Cap, x.Alike = 1+round%5, 1+round%2
			if x.Search() == nil {
				left++
				continue
			}
			if refuted++; feasible(t, tl, known...) {
				t.Fatalf("%s, caps %d and %d: refuted, but feasible:\n%s\n%s", name, x.Cap, x.Alike, known,
					draw(tl))
			}
		}
	}
	if refuted < 50 || left < 50 {
		t.Errorf("%d refuted and %d not: one side was not tried", refuted, left)
	}
}

// TestLongLogsAreSearchedAsShortOnes: a log of 12 units for requests of cost 3 decides as a log of 4 units
// for requests of cost 1. It must do so even if its model remembers twelve units.
func TestLongLogsAreSearchedAsShortOnes(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	t.Parallel()
	short, long := smallPolicy(spec.SlidingWindowLog, 4, 16), smallPolicy(spec.SlidingWindowLog, 12, 16)
	lim, err := reference.New(short)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 23))
	refuted, left := 0, 0
	for range 250 {
		tl := randomHistory(r, lim, shape{requests: 8, gap: 8, late: 20})
		h := newHistory(tl.Observations, history.Widening{}, int64(tl.End()))
		want := search.New(h, short, 0).Search()
		for i := range tl.Observations {
			tl.Observations[i].Cost = 3
		}
		x := search.New(newHistory(tl.Observations, history.Widening{}, int64(tl.End())), long,
			0)
		x.Model = limiter.NewModel(long, 0, 0, []int64{1})
		got := x.Search()
		if (got == nil) != (want == nil) || x.Weight < 2 {
			t.Fatalf("got %v, want %v, weight %d:\n%s", got, want, x.Weight, draw(tl))
		}
		if got != nil {
			refuted++
		} else {
			left++
		}
	}
	if refuted < 50 || left < 50 {
		t.Errorf("%d refuted and %d not: one side was not tried", refuted, left)
	}
}

// TestProductsOfLimitsAreSmallEnough: products of times and scales fit, also where a clock stands still for
// long, and where a recording begins long before zero.
func TestProductsOfLimitsAreSmallEnough(t *testing.T) {
	limit := mustLimit(t, "token-bucket,rate=19997/1s,burst=5 + token-bucket,rate=19993/1s,burst=5")
	for _, c := range []struct{ at, tick time.Duration }{{0, 30 * time.Second}, {0, 40 * time.Second},
		{-30 * time.Second, 0}, {-40 * time.Second, 0}} {
		tl := &timeline.Timeline{Header: timeline.Header{Tick: c.tick}}
		for i := range 5 {
			at := c.at + time.Duration(i)*time.Millisecond
			tl.Observations = append(tl.Observations,
				timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at,
					Answered: true, Outcome: timeline.Allowed})
		}
		j, err := Judge(tl, limit, Options{SkipMeasure: true})
		if err != nil || j.Verdict != result.Pass {
			t.Errorf("from %s, a tick of %s: %v, %+v", c.at, c.tick, err, j)
		}
	}
}

// TestACrowdOfDenials: denials count, or begin a ban, and too many requests overlap for the search. The
// admissions alone are still bounded, and the first denial must have had no other before it.
func TestACrowdOfDenials(t *testing.T) {
	tl := &timeline.Timeline{}
	for i := range 60 {
		o := timeline.Observation{Sent: time.Duration(i), FirstByte: 5*time.Millisecond + time.Duration(i),
			Answered: true, Outcome: timeline.Denied}
		o.Seq, o.Cost = i, 1
		if i < 20 {
			o.Outcome = timeline.Allowed
		}
		tl.Observations = append(tl.Observations, o)
	}
	wants := map[int]result.Verdict{18: result.Fail, 19: result.Fail, 20: result.Pass, 21: result.Fail,
		30: result.Fail}
	for _, text := range []string{"sliding-window-log,rate=%d/2s,count=all",
		"fixed-window,rate=%d/2s,phase=500ms,count=all",
		"fixed-window,rate=%d/2s,phase=250ms,count=all,slots=4",
		"sliding-window-counter,rate=%d/2s,phase=500ms,count=all",
		"token-bucket,rate=1/s,burst=%d,ban=2s", "sliding-window-log,rate=%d/2s,ban=2s",
		"sliding-window-log,rate=%d/2s,count=all,ban=2s",
		"token-bucket,rate=1/s,burst=%d,ban=1s..2s"} {
		for quota, want := range wants {
			j, err := Judge(tl, mustLimit(t, fmt.Sprintf(text, quota)), Options{})
			if err != nil || j.Verdict != want {
				t.Errorf(text+": got %s, %v, want %s", quota, j.Verdict, err, want)
			}
		}
	}
}
