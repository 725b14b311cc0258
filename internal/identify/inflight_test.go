package identify

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/refute"
	"github.com/rlcheck/rlcheck/internal/identify/trip"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestALostAnswerHoldsNoPlaceForLong: at a denial ten seconds after a lost answer nothing is in flight.
func TestALostAnswerHoldsNoPlaceForLong(t *testing.T) {
	late := timeline.Observation{Sent: 10 * time.Second, FirstByte: 11 * time.Second, Answered: true,
		Outcome: timeline.Denied}
	late.Seq = 1
	tl := &timeline.Timeline{Observations: []timeline.Observation{{Outcome: timeline.Unknown}, late}}
	if n := refute.PlacesOf(tl).Held("", late.Sent, late.FirstByte); n != 0 {
		t.Errorf("got %d under way, want none", n)
	}
}

// TestPlacesAreThoseOfTheDefinition: each request of the client that was not denied holds a place, if it was
// sent by the end of the span and was not over before its beginning.
func TestPlacesAreThoseOfTheDefinition(t *testing.T) {
	for seed := range uint64(200) {
		r, tl := rand.New(rand.NewPCG(seed, 7)), &timeline.Timeline{}
		at := func() time.Duration { return time.Duration(r.IntN(20)) * time.Second }
		outcomes := []timeline.Outcome{timeline.Allowed, timeline.Denied, timeline.Unknown}
		for i := range 1 + r.IntN(12) {
			o := timeline.Observation{Outcome: outcomes[r.IntN(3)], Answered: true}
			o.Seq, o.Partition, o.Sent = i, string(rune('a'+r.IntN(2))), at()
			o.Answered = o.Outcome != timeline.Unknown
			if o.Answered {
				o.FirstByte = o.Sent + at()
				o.Done = o.FirstByte + at()
			}
			tl.Observations = append(tl.Observations, o)
		}
		all, late := refute.PlacesOf(tl), refute.Lateness(tl)
		for _, o := range tl.Observations {
			var want int64
			for _, p := range tl.Observations {
				over := p.Done
				if !p.Answered {
					over = p.Sent + late
				}
				if p.Outcome != timeline.Denied && p.Partition == o.Partition &&
					p.Sent <= o.Sent+time.Second && over >= o.Sent {
					want++
				}
			}
			if got := all.Held(o.Partition, o.Sent, o.Sent+time.Second); got != want {
				t.Fatalf("seed %d: #%d: got %d places held, want %d: %+v", seed, o.Seq, got, want,
					tl.Observations)
			}
		}
	}
}

// seats is a target far away with a limit of requests in flight. Each request takes least to most.
type seats struct {
	*simulated
	places      int
	least, most time.Duration
	// streams tells that an answer begins at once and ends when the request is complete. loiters tells that a
	// denial takes as long as the fastest of those answers.
	streams, loiters bool
	// held are the instants at which the requests in flight are complete.
	held []time.Duration
}

// randomSeats returns a random such target with paths of 40 to 160 ms.
func randomSeats(t *testing.T, seed uint64) *seats {
	r := rand.New(rand.NewPCG(seed, 4))
	s := &seats{simulated: simulate(t, parsed(t, "token-bucket,rate=1/s,burst=1"), seed)}
	s.trip, s.jitter = time.Duration(40+r.IntN(80))*ms, time.Duration(r.IntN(40))*ms
	s.forward = 1 + time.Duration(r.Int64N(int64(s.trip)))
	s.places = 1 + r.IntN(6)
	s.least = time.Duration(r.IntN(1+s.places*40)) * ms
	s.most = s.least + time.Duration(r.IntN(3)*r.IntN(60))*ms
	s.streams, s.loiters = r.IntN(4) == 0, r.IntN(2) == 0
	if r.IntN(2) == 0 {
		s.lost = 0.05
	}
	return s
}

func (s *seats) Send(_ context.Context, p plan.Phase) ([]timeline.Observation, error) {
	var out []timeline.Observation
	s.now += p.Rest
	end := s.now
	for len(out) == 0 || len(out) < p.Requests && !p.Over(s.known(out)) {
		_, late, back := s.legs()
		s.decided = max(s.decided, s.now+late)
		s.held = slices.DeleteFunc(s.held, func(at time.Duration) bool { return at <= s.decided })
		o := timeline.Observation{Sent: s.now, Answered: true, Status: 200, FirstByte: s.decided + back,
			Outcome: timeline.Allowed}
		o.At, o.Done = s.now, o.FirstByte
		if len(s.held) >= s.places {
			if o.Outcome, o.Status = timeline.Denied, 429; s.loiters {
				o.FirstByte += s.least
				o.Done = o.FirstByte
			}
		} else {
			hold := s.least + time.Duration(s.random.Int64N(int64(s.most-s.least)+1))
			s.held = append(s.held, s.decided+hold)
			if o.Done += hold; !s.streams {
				o.FirstByte = o.Done
			}
		}
		if s.random.Float64() < s.lost {
			o = timeline.Observation{Arrival: o.Arrival, Sent: s.now, Outcome: timeline.Unknown,
				Error: "timeout"}
		}
		end = max(end, o.Done)
		out = append(out, o)
		s.now += max(p.Every, time.Microsecond)
	}
	s.now = max(s.now, end)
	return out, nil
}

// asFarAs returns a search after its opening phases, and the path if a steady one may be supposed.
func asFarAs(t *testing.T, s Sender) (x *search, path *trip.Steady) {
	x = &search{o: usualBudget(), s: s, tl: &timeline.Timeline{}, clock: s.Now, made: map[string]int{},
		ended: func() bool { return false }}
	x.o.MaxRequests = 400
	x.begin()
	if !x.open(t.Context()) || !x.brisk() {
		return x, nil
	}
	return x, trip.SteadyOf(x.tl)
}

// TestALimitOfRequestsInFlightExplainsItselfFromFarAway, however long requests take, however much of that is
// the path, and whatever is lost. Some were refuted as long as a place was supposed to be held for no part of
// the path.
func TestALimitOfRequestsInFlightExplainsItselfFromFarAway(t *testing.T) {
	n := 0
	for seed := range uint64(map[bool]int{false: 16, true: 1000}[os.Getenv("RLCHECK_SOAK") != ""]) {
		s := randomSeats(t, seed)
		x, path := asFarAs(t, s)
		if path == nil {
			continue
		}
		n++
		if x.path = path; !x.held(t.Context()) {
			t.Errorf("seed %d: got %d places, each held for %s to %s, on a path of %s, refuted", seed,
				s.places, s.least, s.most, s.trip)
		}
	}
	if n < 6 {
		t.Errorf("got %d limits that denied, want 6 at least", n)
	}
}

// TestALimitOfRequestsInFlightIsNamedNothingElseFromFarAway: the answer is open, on a steady path too.
func TestALimitOfRequestsInFlightIsNamedNothingElseFromFarAway(t *testing.T) {
	if os.Getenv("RLCHECK_SOAK") == "" {
		t.Skip("minutes: RLCHECK_SOAK=1")
	}
	for seed := range uint64(100) {
		s, o := randomSeats(t, seed), usualBudget()
		o.MaxRequests, o.Fresh = 400, seed%2 == 0
		if res := Identify(t.Context(), s, o); res.Verdict != identity.Open {
			t.Errorf("seed %d: got %s of %d places, each held for %s to %s, on a path of %s", seed,
				res.Summary(), s.places, s.least, s.most, s.trip)
		}
	}
}
