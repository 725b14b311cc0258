package identify

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// fromAfar is a sender in front of a random limit, with round trips of 80 to 120 ms and lost answers.
func fromAfar(t *testing.T, seed uint64) (*simulated, Options) {
	limit := randomLimit(rand.New(rand.NewPCG(seed, 2)), 6)
	s := simulate(t, limit, seed)
	s.trip, s.jitter, s.lost = 80*time.Millisecond, 40*time.Millisecond, 0.05
	return s, budget(limit)
}

// Limits whose windows last some round trips are named from far away.
func TestLimitsAreNamedFromFarAway(t *testing.T) {
	if testing.Short() {
		t.Skip("ten seconds")
	}
	for _, seed := range []uint64{4, 16} {
		limit := randomLimit(rand.New(rand.NewPCG(seed, 2)), 6)
		s, o := fromAfar(t, seed)
		res := Identify(t.Context(), s, o)
		t.Logf("%s: %s after %d requests", limit, res.Summary(), len(res.Timeline.Observations))
		if res.Verdict != Identified {
			t.Errorf("%s: got %s, want it named", limit, res.Summary())
			continue
		}
		right(t, limit, res)
	}
}

// A lost answer explains what comes soon, and nothing else: the quota of a queue is nearly known from three
// times sixty requests, of which one in twenty is lost.
func TestALostAnswerExplainsLittle(t *testing.T) {
	s, o := fromAfar(t, 1) // five in 1.3 s wait
	x := &search{o: o, s: s, tl: &timeline.Timeline{}, made: map[string]int{},
		ended: func() bool { return false }}
	x.begin()
	for range 3 {
		if !x.send(t.Context(), Phase{Name: "drain", Rest: 3 * time.Second, Requests: 60,
			Every: 45 * time.Millisecond}) {
			t.Fatal(x.stopped)
		}
	}
	x.asQueue()
	x.exclude()
	if x.tl.Counts().Unknown == 0 {
		t.Fatal("no answer was lost")
	}
	for _, r := range x.regions {
		if h := r.hull(); h.q1 < 5 || h.q2 > 8 {
			t.Errorf("%s: got a quota of %d..%d, want about 6", r.kind.text, h.q1, h.q2)
		}
	}
}
