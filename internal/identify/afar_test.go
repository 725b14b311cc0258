package identify

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/refute"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
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
		if res.Verdict != identity.Identified {
			t.Errorf("%s: got %s, want it named", limit, res.Summary())
			continue
		}
		right(t, limit, res)
	}
}

// From far away, answers take too long to tell a window to 2 %. A known kind and quota are named all the
// same. What was measured includes the truth, and the answer says why it is wide and what would narrow it.
func TestWhatIsNamedFromFarAwaySaysHowWellItIsKnown(t *testing.T) {
	if os.Getenv("RLCHECK_SOAK") == "" {
		t.Skip("ten seconds: RLCHECK_SOAK=1")
	}
	s, o := fromAfar(t, 40) // a log of four in 1.2 s
	res := Identify(t.Context(), s, o)
	if res.Verdict != identity.Identified || res.Sharper == nil ||
		len(res.Timeline.Observations) > o.MaxRequests {
		t.Fatalf("got %s, want it named, and not to 2 %%", res.Summary())
	}
	right(t, parsed(t, "sliding-window-log,rate=4/1.2s"), res)
	fits(t, res)
	if text := res.Text(identity.About{Budget: o.Budget}); !strings.Contains(text, res.Sharper.Sentence()) {
		t.Errorf("got %s, want it to say what tells more", text)
	}
}

// TestAQueueIsNamedFromFarAway: a queue of seven was not named while 4.5 % of its rate was open. Its waiting
// requests made it seem near. Only the fastest answer tells how far away a queue is.
func TestAQueueIsNamedFromFarAway(t *testing.T) {
	queue := queues([]*space.Region{known(parsed(t, "token-bucket,rate=2/s,burst=7")[0])})
	queue[0].Live[0].T2 += 30 * ms
	for trip, want := range map[time.Duration]bool{90 * ms: true, 15 * ms: false} {
		tl := &timeline.Timeline{Observations: slices.Concat(took(timeline.Allowed, trip, time.Second),
			took(timeline.Denied, trip))}
		x := &search{o: usualBudget(), tl: tl, withoutQueue: queue, queueWithin: 2 * trip, usuals: 1}
		if x.regions = queue; x.coarse(x.regions) != want || x.named() != want {
			t.Errorf("answers in %s: got it named %v, want %v", trip, !want, want)
		}
		if s := x.sharper(x.candidate(queue[0])); s.Trip > 2*trip {
			t.Errorf("answers in %s: got %s, in which an answer waited", trip, s.Trip)
		}
	}
}

// TestAQueueFarAwayIsWrittenRound: 4/1.9s was written 4/1.84s, by the time of one unit alone.
func TestAQueueFarAwayIsWrittenRound(t *testing.T) {
	const want = "leaky-bucket-queue,rate=4/1.9s,queue=4"
	s := simulate(t, parsed(t, want), 1)
	s.trip, s.jitter = 80*ms, 40*ms
	x := &search{o: usualBudget(), s: s, tl: &timeline.Timeline{}, queueWithin: 120 * ms}
	for range 2 {
		x.send(t.Context(), plan.Phase{Rest: 4 * time.Second, Requests: 20, Every: 60 * ms})
	}
	x.withoutQueue = []*space.Region{known(parsed(t, "token-bucket,rate=2/s,burst=5")[0])}
	r := queues(x.withoutQueue)[0]
	r.Live[0].T1, r.Live[0].T2 = 457*ms, 478*ms
	if got := x.candidate(r).Limit.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A lost answer explains only denials soon after it. Three times sixty requests, of which one in twenty is
// lost, tell the quota of a queue nearly.
func TestALostAnswerExplainsLittle(t *testing.T) {
	s, o := fromAfar(t, 1) // five in 1.3 s wait
	x := &search{o: o, s: s, tl: &timeline.Timeline{}, clock: s.Now, made: map[string]int{},
		ended: func() bool { return false }}
	x.begin()
	for range 3 {
		if !x.send(t.Context(), plan.Phase{Name: "drain", Rest: 3 * time.Second, Requests: 60,
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
		if h := r.Hull(); h.Q1 < 5 || h.Q2 > 8 {
			t.Errorf("%s: got a quota of %d..%d, want about 6", r.Kind.Text, h.Q1, h.Q2)
		}
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
		if got := refute.Asker(nil).Refuted(tl, l, verdict.Exact, false); got != want {
			t.Errorf("%s: got refuted %v, want %v", l, got, want)
		}
	}
}

// Where answers take longer than the window, the question stays open, and the answer says why.
func TestWhatIsTooShortFromFarAwayIsSaid(t *testing.T) {
	if testing.Short() {
		t.Skip("ten seconds")
	}
	s, o := fromAfar(t, 10) // three in 150 ms
	res := Identify(t.Context(), s, o)
	if res.Verdict != identity.Open ||
		!strings.Contains(res.Stopped, "decided at any time until its answer") {
		t.Errorf("got %s (%s), want it open, and that answers take too long", res.Verdict, res.Stopped)
	}
	for _, want := range []string{"ask from nearer", tooSoon} {
		if !strings.Contains(res.Stopped, want) {
			t.Errorf("got %q, want it to say what would help, and what cannot be told: %q", res.Stopped, want)
		}
	}
	if text := res.Text(identity.About{Budget: o.Budget}); strings.Contains(text, "next:") {
		t.Errorf("got %s, want it not to ask for more from there", text)
	}
	for _, c := range res.Found {
		if q := c.Measured.Burst; q.Hi > 20 {
			t.Errorf("%s: got a quota of %s, and no more than eight were admitted at once", c.Text, q)
		}
	}
	if n := len(res.Timeline.Observations); n > o.MaxRequests*3/5 {
		t.Errorf("%d of %d requests were sent, want those that are left spared", n, o.MaxRequests)
	}
}

// TestCountersAreSearchedFromFarAway: six of the eight classes left are the roundings of two counters. The
// exact search refutes some of them. Near the target it waits until at most three classes are left.
func TestCountersAreSearchedFromFarAway(t *testing.T) {
	for _, far := range []bool{false, true} {
		x := &search{o: Options{Budget: identity.Budget{MaxRequests: 5}}, far: far, tl: &timeline.Timeline{}}
		x.tl.Observations = make([]timeline.Observation, 1)
		left := slices.Concat(space.Kinds()[:2],
			space.CounterKind(spec.AlignUnknown, spec.CountAdmitted).Parts,
			space.CounterKind(spec.AlignUnknown, spec.CountAll).Parts)
		for _, k := range left {
			x.regions = append(x.regions,
				&space.Region{Kind: k, Live: []space.Box{{Q1: 2, Q2: 2, T1: 1, T2: 2}}})
		}
		x.deepen()
		for _, r := range x.regions {
			if r.Kind.Searched != (far && r.Kind.Base.Weighs()) {
				t.Errorf("far %v: %s is searched: %v", far, r.Text(), r.Kind.Searched)
			}
		}
	}
}

// slowAtFirst answers the first request late, as a busy machine does that opens a connection.
type slowAtFirst struct{ *simulated }

func (s slowAtFirst) Send(ctx context.Context, p plan.Phase) ([]timeline.Observation, error) {
	s.trip = ms
	if p.Name == firstPhase {
		s.trip = 50 * ms
	}
	return s.simulated.Send(ctx, p)
}

// TestOnlyTheFirstAnswerWasSlow: all that follows came in 0.2 ms, but it was asked as if units came back
// within a round trip, and the search ended after 151 of 400 requests with 11 kinds left.
func TestOnlyTheFirstAnswerWasSlow(t *testing.T) {
	x := begun(slowAtFirst{simulate(t, parsed(t, "sliding-window-log,rate=60/10s"), 1)}, usualBudget(), never)
	if x.open(t.Context()); x.far || x.brisk() || x.every != x.o.Every {
		t.Errorf("got far %v, brisk %v, requests %s apart", x.far, x.brisk(), x.every)
	}
}
