package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// anchoredPolicies are sliding window counters whose windows begin with the first counted request. They vary
// in the axes of HAProxy's counters: what is counted, rounding and quota.
func anchoredPolicies() map[string]spec.Policy {
	out := map[string]spec.Policy{}
	for _, count := range []spec.Count{spec.CountAdmitted, spec.CountAll} {
		for _, rounding := range []spec.Rounding{spec.RoundNone, spec.RoundDown, spec.RoundUp} {
			for _, quota := range []int64{1, 2, 3} {
				p := spec.Policy{Algorithm: spec.SlidingWindowCounter, Rate: spec.Rate{N: quota, Per: 40},
					Align: spec.AlignFirst, Count: count, Rounding: rounding, Boundary: spec.HalfOpen,
					Start: spec.StartFull, Refill: spec.RefillContinuous}
				out[fmt.Sprintf("counts %s, rounds %s, quota %d", count, rounding, quota)] = p
			}
		}
	}
	return out
}

// TestAnchoredCounterIsNeverAccusedWithoutProof compares verdicts and witnesses with the oracle. It must
// explain neither a recording that fails nor the witness alone.
func TestAnchoredCounterIsNeverAccusedWithoutProof(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	for name, pol := range anchoredPolicies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, late := range []int{0, 3, 10, 30, 80} {
				judgeAnchoredHistories(t, pol, late, rounds)
			}
		})
	}
}

func judgeAnchoredHistories(t *testing.T, pol spec.Policy, late, rounds int) {
	t.Helper()
	lim, err := reference.New(pol)
	if err != nil {
		t.Fatal(err)
	}
	const seed = 4099
	r := rand.New(rand.NewPCG(seed, uint64(late)))
	caught, infeasible := 0, 0
	for round := range rounds {
		tl := randomHistory(r, lim, smallShape(r, late, pol.Count != spec.CountAll && r.IntN(4) == 0))
		j, err := Judge(tl, spec.Limit{pol}, Options{SkipMeasure: true})
		if err != nil {
			t.Fatal(err)
		}
		truth := feasible(t, tl, pol)
		if !truth {
			infeasible++
		}
		if j.Verdict != result.Fail {
			continue
		}
		caught++
		if truth {
			t.Fatalf("seed %d, late %d, round %d: false alarm:\n%s\n%+v", seed, late, round, draw(tl),
				j.Partitions[0].Findings)
		}
		for _, f := range j.Partitions[0].Findings {
			checkWitness(t, pol, tl, f)
		}
	}
	if late <= 10 && (infeasible == 0 || caught < infeasible*3/4) { // longer latencies tell less
		t.Errorf("late %d: got %d of %d infeasible histories caught, want three quarters at least", late,
			caught, infeasible)
	}
}

func checkWitness(t *testing.T, pol spec.Policy, tl *timeline.Timeline, f result.Finding) {
	t.Helper()
	alone := &timeline.Timeline{Header: tl.Header}
	for _, o := range tl.Observations {
		for _, seq := range f.Observations {
			if o.Seq == seq {
				alone.Observations = append(alone.Observations, o)
			}
		}
	}
	j, err := Judge(alone, spec.Limit{pol}, Options{SkipMeasure: true})
	if err != nil {
		t.Fatal(err)
	}
	if j.Verdict != result.Fail {
		t.Fatalf("the witness of %q is judged %s alone:\n%s of\n%s", f.Text, j.Verdict, draw(alone), draw(tl))
	}
	if feasible(t, alone, pol) {
		t.Fatalf("the witness of %q is explained:\n%s of\n%s", f.Text, draw(alone), draw(tl))
	}
}

// TestAnchoredCounterAsksForAFirstDenial judges a burst of four of which two were denied, where denied
// requests are counted too. Either denial alone could have come after the others, but not both.
func TestAnchoredCounterAsksForAFirstDenial(t *testing.T) {
	pol := anchoredPolicies()["counts all, rounds down, quota 3"]
	tl := &timeline.Timeline{}
	for i, outcome := range []timeline.Outcome{timeline.Allowed, timeline.Allowed, timeline.Denied,
		timeline.Denied} {
		tl.Observations = append(tl.Observations,
			timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: 0, FirstByte: 5,
				Answered: true, Outcome: outcome})
	}
	for _, c := range []struct {
		quota int64
		want  result.Verdict
	}{{1, result.Fail}, {2, result.Pass}, {3, result.Fail}} {
		// quota 3: at most two requests came before the denial that was first
		pol.Rate.N = c.quota
		j, err := Judge(tl, spec.Limit{pol}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if j.Verdict != c.want {
			t.Errorf("quota %d: got %s, want %s", c.quota, j.Verdict, c.want)
		}
	}
}

// TestAnchoredCounterKeepsItsWindowsThroughARest sends a second burst one window after the first. The first
// counted request lies in window 0 whatever its interval. The second burst therefore shows that the windows
// go on, and the quota is measured exactly.
func TestAnchoredCounterKeepsItsWindowsThroughARest(t *testing.T) {
	pol := anchoredPolicies()["counts admitted, rounds down, quota 2"]
	pol.Rate.Per = 100
	tl := &timeline.Timeline{}
	for i, at := range []int{0, 0, 0, 110, 110, 110, 420, 420, 420} {
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Answered: true,
			Outcome: timeline.Allowed}
		o.Sent, o.FirstByte = time.Duration(at), time.Duration(at+5)
		if i == 2 || i == 4 || i == 5 || i == 8 {
			o.Outcome = timeline.Denied
		}
		tl.Observations = append(tl.Observations, o)
	}
	j, err := Judge(tl, spec.Limit{pol}, Options{Resolution: Resolution{BurstExact: true}})
	if err != nil {
		t.Fatal(err)
	}
	if j.Verdict != result.Pass || j.Measured.Burst.Lo != 2 || j.Measured.Burst.Hi != 2 {
		t.Errorf("got %s (%s), burst %s; want pass, burst 2..2", j.Verdict, j.Detail, j.Measured.Burst)
	}
}

// TestALostAnswerLeavesTheStretchKnown: a request without an answer begins windows anew only where the
// certain requests leave a silence that is long enough.
func TestALostAnswerLeavesTheStretchKnown(t *testing.T) {
	const end = 1000
	pol := mustLimit(t, "sliding-window-counter,rate=3/10ns,align=first")[0]
	for silence, want := range map[int64]bool{10: true, 31: false} {
		events := []history.Event{{Start: 0, End: 0, Outcome: timeline.Allowed},
			{Start: 5, End: end, Outcome: timeline.Unknown}}
		for at := int64(10); at <= 500; at += 10 {
			events = append(events, history.Event{Start: at, End: at, Outcome: timeline.Allowed})
		}
		events = append(events,
			history.Event{Start: 500 + silence, End: 500 + silence, Outcome: timeline.Allowed})
		until, sure := limiter.Stretch(events, false, limiter.NewGrid(pol, 0, 0), end)
		if sure != want || sure != (until == history.MaxTime) {
			t.Errorf("a silence of %d ns at last: got %d, %v, want %v", silence, until, sure, want)
		}
	}
}

// TestAnchorIsTheFirstCountedRequest: the windows begin when the first counted request was decided. That is
// no later than the earliest end among the requests that were surely counted.
func TestAnchorIsTheFirstCountedRequest(t *testing.T) {
	a, d, u := timeline.Allowed, timeline.Denied, timeline.Unknown
	for name, c := range map[string]struct {
		events []history.Event
		all    bool
		want   history.Interval
	}{
		"one": {[]history.Event{{Start: 5, End: 9, Outcome: a}}, false, history.Interval{From: 5, To: 9}},
		"a later one ends first": {[]history.Event{{Start: 5, End: 90, Outcome: a},
			{Start: 7, End: 12, Outcome: a}}, false,
			history.Interval{From: 5, To: 12}},
		"a denial is not counted": {[]history.Event{{Start: 5, End: 90, Outcome: a},
			{Start: 7, End: 12, Outcome: d}}, false,
			history.Interval{From: 5, To: 90}},
		"a denial is counted": {[]history.Event{{Start: 5, End: 90, Outcome: a},
			{Start: 7, End: 12, Outcome: d}}, true,
			history.Interval{From: 5, To: 12}},
		"a lost one may not be": {[]history.Event{{Start: 5, End: 90, Outcome: a},
			{Start: 7, End: 12, Outcome: u}}, true,
			history.Interval{From: 5, To: 90}},
		"one of a later start is not": {[]history.Event{{Start: 5, End: 9, Outcome: a},
			{Start: 10, End: 11, Outcome: a}}, false,
			history.Interval{From: 5, To: 9}},
		"only lost ones": {[]history.Event{{Start: 5, End: 9, Outcome: u}, {Start: 7, End: 12, Outcome: u}},
			false,
			history.Interval{From: 5, To: 12}},
	} {
		if got := limiter.Anchor(c.events, c.all); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// TestDenialsOfAnIdleCounter: where nothing was counted, nothing explains a denial, wherever windows begin.
// That holds for Judge, for a stream, and where only one side is judged. A denial is right if its cost
// exceeds the quota, or if it lies in the ban that such a denial begins.
func TestDenialsOfAnIdleCounter(t *testing.T) {
	const spec = "sliding-window-counter,rate=11/100ns,align=first"
	for _, side := range []result.Conformance{result.Exact, result.LowerBound} {
		for _, c := range []struct {
			spec string
			cost int64
			want result.Verdict
		}{{spec, 1, result.Fail}, {spec, 12, result.Pass}, {spec + ",ban=10us", 1, result.Fail},
			{spec + ",ban=10us", 12, result.Pass}, {spec + ",tick=5ns", 1, result.Fail}} {
			tl := &timeline.Timeline{}
			for i := range time.Duration(300) {
				tl.Observations = append(tl.Observations,
					timeline.Observation{Arrival: timeline.Arrival{Seq: int(i), Cost: 1},
						Sent: 10 * i, FirstByte: 10*i + 9, Answered: true, Outcome: timeline.Denied})
			}
			if tl.Observations[0].Cost = c.cost; c.cost > 1 && !strings.Contains(c.spec, "ban") {
				tl.Observations = tl.Observations[:1]
			}
			limit, o := mustLimit(t, c.spec), Options{SkipMeasure: true, Conformance: side}
			j, err := Judge(tl, limit, o)
			if err != nil {
				t.Fatal(err)
			}
			s := streamed(t, tl, limit, o, inTurnCaps)
			if j.Verdict != c.want || s.Verdict != c.want {
				t.Errorf("%s, %s, cost %d: got %v, as a stream %v; want %v", c.spec, side, c.cost, j.Verdict,
					s.Verdict, c.want)
				continue
			}
			for _, p := range slices.Concat(j.Partitions, s.Partitions) {
				for _, f := range p.Findings {
					if w, err := Judge(alone(tl, f.Observations), limit, o); err != nil ||
						w.Verdict != result.Fail || f.Kind != result.UnderAdmission {
						t.Errorf("%s, %s: %s: the witness %v alone: %v, %v", c.spec, side, f.Text,
							f.Observations, w.Verdict, err)
					}
				}
			}
		}
	}
}

// TestAnExplainedCounterPasses: a silence of one to two windows leaves open where windows begin anew. The
// recording passes all the same if one explanation covers all requests.
func TestAnExplainedCounterPasses(t *testing.T) {
	limit := mustLimit(t, "sliding-window-counter,rate=4/40us,align=first")
	for _, n := range []int{100, 1124} {
		for silence := time.Duration(0); silence < 100*time.Microsecond; silence += 2 * time.Microsecond {
			tl := countedWithASilence(t, limit, n, silence)
			j, err := Judge(tl, limit, Options{SkipMeasure: true})
			if err != nil || j.Verdict != result.Pass {
				t.Fatalf("%d right answers, %s of silence: got %s, want pass", n, silence, answer(j, err))
			}
		}
	}
}

// countedWithASilence records n requests to a right limiter, with a silence in the middle.
func countedWithASilence(t *testing.T, limit spec.Limit, n int, silence time.Duration) *timeline.Timeline {
	t.Helper()
	lim, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	tl := &timeline.Timeline{}
	state, at := lim.Init(), time.Duration(0)
	for i := range n {
		if at += 5 * time.Microsecond; i == n/2 {
			at += silence
		}
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at + 2000}
		o.Answered, o.Outcome = true, timeline.Denied
		var d reference.Decision
		if state, d = lim.Step(state, at+1000, 1); d.Allow {
			o.Outcome = timeline.Allowed
		}
		tl.Observations = append(tl.Observations, o)
	}
	return tl
}
