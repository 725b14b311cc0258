package identify

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestKindsOfOneRequestAreOneLimiter: a known kind kept asking for others of its class.
func TestKindsOfOneRequestAreOneLimiter(t *testing.T) {
	const ms = time.Millisecond
	all := Kinds()
	rounded := all[5].Parts[2]
	one := func(k *Kind, from, to time.Duration) *Region {
		return &Region{Kind: k, Live: []Box{{Q1: 1, Q2: 1, T1: from * ms, T2: to * ms}}}
	}
	regions := []*Region{one(all[0], 195, 203), one(all[2], 190, 202), one(all[3], 300, 310),
		one(rounded, 98, 110)}
	shareTimes(regions)
	if h := regions[0].Hull(); h.T1 != 195*ms {
		t.Errorf("a kind that has no time in common: got %v, want it left as it was", h)
	}
	regions = append(regions[:2:2], regions[3])
	shareTimes(regions)
	for i, want := range []Box{{T1: 196 * ms, T2: 202 * ms}, {T1: 196 * ms, T2: 202 * ms},
		{T1: 98 * ms, T2: 101 * ms}} {
		if h := regions[i].Hull(); h.T1 != want.T1 || h.T2 != want.T2 {
			t.Errorf("%s: got %v..%v, want %v..%v", regions[i].Kind.Text, h.T1, h.T2, want.T1, want.T2)
		}
	}
}

// TestSlowAnswersAreNoQueue: answers were slow by chance, and a bucket was named
// leaky-bucket-queue,queue=9,undelayed=9. Nothing waits in that queue.
func TestSlowAnswersAreNoQueue(t *testing.T) {
	if os.Getenv("RLCHECK_SOAK") == "" {
		t.Skip("eight seconds each: RLCHECK_SOAK=1")
	}
	limit := parsed(t, "leaky-bucket,rate=10/s,burst=10")
	for seed := range uint64(20) {
		s := simulate(t, limit, seed)
		s.busy, s.slow = 0.6, 60*time.Millisecond
		res := Identify(t.Context(), s, budget(limit))
		if res.Verdict != Identified {
			t.Errorf("got %s, want it named", res.Summary())
			continue
		}
		right(t, limit, res)
	}
}

// On a busy machine, where answers are late at random, more is left open, but no name is wrong. RLCHECK_SOAK
// runs 500 seeds.
func TestNoNameIsWrongOnABusyMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of planning")
	}
	h := &harness{t: t, most: 12, busy: true, least: 50}
	h.seeds(map[bool]uint64{false: 1, true: 500}[os.Getenv("RLCHECK_SOAK") != ""])
}

// TestASlowFirstAnswerIsNotFarAway: one answer of 90 ms made all later ones seem to come from far away.
func TestASlowFirstAnswerIsNotFarAway(t *testing.T) {
	const ms = time.Millisecond
	answer := func(at, took time.Duration) timeline.Observation {
		return timeline.Observation{Sent: at, FirstByte: at + took, Answered: true}
	}
	for later, far := range map[time.Duration]bool{1: false, 80: true} {
		all := []timeline.Observation{answer(0, 90*ms), answer(200*ms, later*ms), answer(400*ms, 95*ms)}
		x := &search{wire: wire{o: usualBudget(), pace: pace{far: true, every: 112 * ms},
			tl: &timeline.Timeline{Observations: all}}}
		x.spaced()
		if x.pace.far != far {
			t.Errorf("later answers of %v ms: got far %v, requests %v apart", later, x.pace.far, x.pace.every)
		}
	}
}

// TestALimitOfOneIsNamedWhereAnswersAreSlow: on a busy machine answers took up to 15 ms, and one in 200 ms
// was open. Counters were not told apart, and one experiment was made thirty times.
func TestALimitOfOneIsNamedWhereAnswersAreSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of planning")
	}
	limit, o := parsed(t, "leaky-bucket,rate=5/s,burst=1"), usualBudget()
	s := simulate(t, limit, 1)
	s.jitter, o.Fresh, o.MaxRequests = 15*time.Millisecond, false, 700
	res := Identify(t.Context(), s, o)
	if t.Logf("after %d requests: %s", res.Sent(), res.Summary()); res.Verdict != Identified {
		t.Fatalf("got %s, want a name", res.Verdict)
	}
	right(t, limit, res)
	class := slices.Sorted(slices.Values(res.Found[0].Class))
	if n := len(class); len(slices.Compact(class)) != n {
		t.Errorf("got the class %q, want each algorithm once", res.Found[0].Class)
	}
}

// TestPlanningIsPartOfARest: a request for 190 ms after the last one came 190 ms after it was planned. On a
// busy machine planning took as long as the window of one request in 200 ms, so 400 requests told nothing
// more.
func TestPlanningIsPartOfARest(t *testing.T) {
	const ms = time.Millisecond
	s := simulate(t, parsed(t, "leaky-bucket,rate=5/s,burst=1"), 1)
	x := &search{wire: wire{s: s, pace: pace{every: 20 * ms}}}
	for _, tt := range []struct{ rest, thought, want time.Duration }{{190 * ms, 0, 190 * ms},
		{190 * ms, 100 * ms, 90 * ms}, {190 * ms, 300 * ms, 20 * ms}, {0, 300 * ms, 0}} {
		s.now = time.Second + tt.thought
		if got := x.rest(tt.rest, time.Second); got != tt.want {
			t.Errorf("%s after %s of planning: got a rest of %s, want %s", tt.rest, tt.thought, got, tt.want)
		}
	}
}
