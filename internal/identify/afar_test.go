package identify

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// fromAfar is a sender far from a random limit, with round trips of 80 to 120 ms and lost answers.
func fromAfar(t *testing.T, seed uint64) (*simulated, Options) {
	limit := randomLimit(rand.New(rand.NewPCG(seed, 2)), 6)
	s := simulate(t, limit, seed)
	s.trip, s.jitter, s.lost = 80*time.Millisecond, 40*time.Millisecond, 0.05
	return s, budget(limit)
}

// Limits are named from far away if their windows last some round trips.
func TestLimitsAreNamedFromFarAway(t *testing.T) {
	if os.Getenv("RLCHECK_SOAK") == "" {
		t.Skip("half a minute: RLCHECK_SOAK")
	}
	for _, seed := range []uint64{1, 8} {
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

// A lost answer explains only denials soon after it. Three times sixty requests, of which one in twenty is
// lost, tell the quota of a queue nearly.
func TestALostAnswerExplainsLittle(t *testing.T) {
	s, o := fromAfar(t, 1) // five in 1.3 s wait
	x := begun(s, o, nil)
	for range 3 {
		if !x.send(t.Context(), Phase{Name: "drain", Rest: 3 * time.Second, Requests: 60,
			Every: 45 * time.Millisecond}) {
			t.Fatal(x.stopped)
		}
	}
	x.crowd = true
	c := x.queue()
	if x.tl.Counts().Unknown == 0 {
		t.Fatal("no answer was lost")
	}
	if c == nil || c.box.Q1 < 4 || c.box.Q2 > 7 {
		t.Errorf("got %+v, want about 5 places", c)
	}
}

// A lost request was decided soon or never, even where it may have opened a window. It did not fill a window
// that another request opened three seconds later.
func TestALostAnswerFillsNoLaterWindow(t *testing.T) {
	at := func(sent time.Duration, out timeline.Outcome) timeline.Observation {
		o := timeline.Observation{Sent: sent, FirstByte: sent + 100*time.Millisecond, Answered: true,
			Outcome: out}
		if o.At, o.Cost = sent, 1; out == timeline.Unknown {
			o.Answered, o.FirstByte = false, 0
		}
		return o
	}
	tl := &timeline.Timeline{Observations: []timeline.Observation{at(0, timeline.Allowed),
		at(200*time.Millisecond, timeline.Unknown), at(3300*time.Millisecond, timeline.Allowed),
		at(3600*time.Millisecond, timeline.Denied)}}
	for text, want := range map[string]bool{"2/3s": true, "1/3s": false} {
		l, err := spec.Parse("fixed-window,rate=" + text + ",align=first")
		if err != nil {
			t.Fatal(err)
		}
		if got := Asker(nil).Refuted(tl, l, result.Exact, false); got != want {
			t.Errorf("%s: got refuted %v, want %v", l, got, want)
		}
	}
}

// slowAtFirst answers the first request late, as a busy machine does that opens a connection.
type slowAtFirst struct{ *simulated }

func (s slowAtFirst) Send(ctx context.Context, p Phase) ([]timeline.Observation, error) {
	s.trip = ms
	if p.Name == firstPhase {
		s.trip = 50 * ms
	}
	return s.simulated.Send(ctx, p)
}

// TestOnlyTheFirstAnswerWasSlow: all that follows came in 0.2 ms, but it was asked as if units came back
// within a round trip, and the search ended after 151 of 400 requests with 11 kinds left.
func TestOnlyTheFirstAnswerWasSlow(t *testing.T) {
	x := begun(slowAtFirst{simulate(t, parsed(t, "sliding-window-log,rate=60/10s"), 1)}, usualBudget(), nil)
	if x.open(t.Context()); x.pace.far || x.pace.every != x.o.Every {
		t.Errorf("got far %v, requests %s apart", x.pace.far, x.pace.every)
	}
}
