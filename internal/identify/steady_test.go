package identify

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/identify/trip"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

const ms = time.Millisecond

// took is requests a second apart, each answered after the given time.
func took(outcome timeline.Outcome, all ...time.Duration) (out []timeline.Observation) {
	for i, trip := range all {
		sent := time.Duration(i) * time.Second
		out = append(out, timeline.Observation{Sent: sent, FirstByte: sent + trip, Done: sent + trip,
			Answered: true, Outcome: outcome})
	}
	return out
}

// TestLittleIsSupposedOfAPath: only what most answers show, and nothing where answers are few or differ.
func TestLittleIsSupposedOfAPath(t *testing.T) {
	spread := func(n int, from, to time.Duration) (out []time.Duration) {
		for i := range n {
			out = append(out, from+(to-from)*time.Duration(i)/time.Duration(n-1))
		}
		return out
	}
	for name, tt := range map[string]struct {
		admitted, denied []time.Duration
		want             time.Duration
	}{
		"few":                       {spread(19, 80*ms, 120*ms), nil, 0},
		"as much below the fastest": {spread(21, 80*ms, 120*ms), nil, 60 * ms},
		"a tenth is left":           {spread(21, 80*ms, 81*ms), nil, 72 * ms},
		"unsteady":                  {spread(21, 20*ms, 120*ms), nil, 0},
		"admissions wait":           {spread(21, 80*ms, 400*ms), spread(11, 80*ms, 100*ms), 70 * ms},
		"denials come sooner":       {spread(21, 300*ms, 320*ms), spread(11, 80*ms, 120*ms), 70 * ms},
	} {
		tl := &timeline.Timeline{Observations: append(took(timeline.Allowed, tt.admitted...),
			took(timeline.Denied, tt.denied...)...)}
		if got := trip.SteadyOf(tl); got.Needs() != tt.want {
			t.Errorf("%s: got %s, want %s", name, got.Needs(), tt.want)
		}
	}
}

// decides is a limiter that records when it decided.
type decides struct {
	reference.Limiter
	at []time.Duration
}

func (d *decides) Step(s reference.State, at time.Duration, n int64) (reference.State, reference.Decision) {
	d.at = append(d.at, at)
	return d.Limiter.Step(s, at, n)
}

// TestDecisionsLieWithinASteadyPath: wherever the limiter stands on the path, shifted by one time for all.
func TestDecisionsLieWithinASteadyPath(t *testing.T) {
	for seed := range uint64(20) {
		s := simulate(t, parsed(t, "token-bucket,rate=5/s,burst=5"), seed)
		s.trip, s.jitter, s.lost = 80*ms, 40*ms, 0.05
		s.forward = 1 + time.Duration(rand.New(rand.NewPCG(seed, 7)).Int64N(int64(s.trip)))
		d := &decides{Limiter: s.limiter}
		s.limiter = d
		all, err := s.Send(t.Context(), plan.Phase{Requests: 100, Every: 30 * ms})
		if err != nil {
			t.Fatal(err)
		}
		path := trip.SteadyOf(&timeline.Timeline{Observations: all})
		if path == nil || path.Floor < 55*ms || path.Floor > s.trip {
			t.Fatalf("seed %d: got %v, want most of %s", seed, path, s.trip)
		}
		tl := path.Decided(&timeline.Timeline{Observations: all})
		for i := range tl.Observations {
			o, at := &tl.Observations[i], d.at[i]-time.Duration(s.start.UnixNano())-(2*s.forward-s.trip)/2
			if at < o.Sent || o.Answered && at > o.FirstByte {
				t.Errorf("seed %d, request %d: decided at %s, not in %s..%s", seed, i, at, o.Sent,
					o.FirstByte)
			}
			if o.Answered && o.FirstByte-o.Sent > 70*ms {
				t.Errorf("seed %d, request %d: %s are left open", seed, i, o.FirstByte-o.Sent)
			}
		}
	}
}

// TestASteadyPathIsBeliedByOneAnswer: and no interval becomes negative.
func TestASteadyPathIsBeliedByOneAnswer(t *testing.T) {
	path := &trip.Steady{Floor: 70 * ms}
	tl := &timeline.Timeline{Observations: took(timeline.Allowed, 90*ms, 69*ms)}
	if !path.Belied(tl) || path.Belied(&timeline.Timeline{Observations: tl.Observations[:1]}) {
		t.Errorf("got it belied by %v, want by 69 ms alone", tl.Observations)
	}
	for _, o := range path.Decided(tl).Observations {
		if o.FirstByte < o.Sent || o.Done < o.FirstByte {
			t.Errorf("got %s..%s", o.Sent, o.FirstByte)
		}
	}
}

// TestWhatASteadyPathLeavesIsSaid: for 10/s with a burst of 20, an answer listed twelve kinds with quotas of
// 1 to 400. On a steady path five were left, first a bucket of 19 to 21.
func TestWhatASteadyPathLeavesIsSaid(t *testing.T) {
	path, res := &trip.Steady{Floor: 62 * ms, Fastest: 82 * ms, Answers: 300},
		&identity.Result{Verdict: identity.Open}
	res.Timeline = &timeline.Timeline{Observations: took(timeline.Allowed, 82*ms)}
	for _, text := range []string{"token-bucket,rate=10/s,burst=20", "fixed-window,rate=20/1s"} {
		c := identity.Candidate{Limit: parsed(t, text), Class: space.BucketClass, Least: time.Second,
			Most: time.Second}
		c.Measured.Burst = verdict.Interval{Lo: 19, Hi: 21, LoSet: true, HiSet: true}
		res.Found = append(res.Found, c)
	}
	said := leaves(path, res)
	for _, want := range []string{path.Sentence(), res.Found[0].Limit.String(), res.Found[1].Worth()} {
		if !strings.Contains(said, want) {
			t.Errorf("got %q, want %q in it", said, want)
		}
	}
	if n := strings.Count(said, "; "); n != 1 { // it is one reason
		t.Errorf("got %d reasons in %q, want 1", n, said)
	}
	res.Timeline = &timeline.Timeline{Observations: took(timeline.Allowed, 61*ms)}
	if said := leaves(path, res); strings.Contains(said, "burst=20") {
		t.Errorf("got %q where an answer came sooner than the path lets it", said)
	}
}

// TestAShortWindowIsNamedOnASteadyPath: five in 800 ms. The answer says what the name rests on.
func TestAShortWindowIsNamedOnASteadyPath(t *testing.T) {
	if os.Getenv("RLCHECK_SOAK") == "" {
		t.Skip("a minute: RLCHECK_SOAK=1")
	}
	limit := parsed(t, "fixed-window,rate=5/800ms,align=first")
	s, o := fromAfar(t, 303)
	s.forward = 30 * ms
	res := Identify(t.Context(), s, o)
	if res.Verdict != identity.Identified || res.Assuming == nil {
		t.Fatalf("got %s, want it named on a steady path", res.Summary())
	}
	right(t, limit, res)
	fits(t, res)
	said := "\n  " + res.Assuming.Sentence() + "\n"
	if text := res.Text(identity.About{Budget: o.Budget}); !strings.Contains(text, said) {
		t.Errorf("got %s, want it to say what it rests on", text)
	}
}

// brisk is a sender in front of a limit whose units come back within a round trip of 90 to 110 ms.
func brisk(t *testing.T, text string, seed uint64) (*simulated, Options) {
	s := simulate(t, parsed(t, text), seed)
	s.trip, s.jitter = 90*ms, 20*ms
	s.forward = 1 + time.Duration(rand.New(rand.NewPCG(seed, 3)).Int64N(int64(s.trip)))
	o := usualBudget()
	o.MaxRequests, o.Fresh = 400, seed%2 == 0
	return s, o
}

// TestWhatComesBackWithinARoundTripIsNamedOnASteadyPath: 10/s with a burst of 20 was open, as a limit of
// requests in flight explains each of its denials.
func TestWhatComesBackWithinARoundTripIsNamedOnASteadyPath(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of planning")
	}
	soak := os.Getenv("RLCHECK_SOAK") != ""
	for i, text := range []string{"token-bucket,rate=10/s,burst=20", "fixed-window,rate=20/1s",
		"fixed-window,rate=20/1s,align=first", "sliding-window-log,rate=20/1s"} {
		for seed := range uint64(4) {
			if i+int(seed) > 0 && !soak {
				continue
			}
			s, o := brisk(t, text, seed)
			if seed > 1 {
				s.lost = 0.05
			}
			res := Identify(t.Context(), s, o)
			t.Logf("seed %d: %s after %d requests: %s", seed, res.Summary(), res.Sent(), res.Stopped)
			if res.Verdict != identity.Identified || res.Assuming == nil {
				t.Errorf("%s, seed %d: got %s, want it named on a steady path", text, seed, res.Summary())
				continue
			}
			right(t, parsed(t, text), res)
		}
	}
}

// TestALimitOfRequestsInFlightIsSoonRefutedOfABucket, with lost answers too.
func TestALimitOfRequestsInFlightIsSoonRefutedOfABucket(t *testing.T) {
	for seed := range uint64(20) {
		s, _ := brisk(t, "token-bucket,rate=10/s,burst=20", seed)
		s.lost = float64(seed%2) * 0.05
		x, path := asFarAs(t, s)
		if x.path = path; path == nil || x.held(t.Context()) {
			t.Errorf("seed %d: got it explained by requests in flight on %v", seed, path)
		}
	}
}

// TestALimitOfRequestsInFlightIsRefutedByMoreThanOneOverload: one more was asked for, which needs luck if
// units come back in 83 ms. If they come back in 50 ms, no request 70 ms apart is denied, and more overloads
// tell nothing.
func TestALimitOfRequestsInFlightIsRefutedByMoreThanOneOverload(t *testing.T) {
	for text, want := range map[string]struct{ explained, overloads int }{
		"token-bucket,rate=12/s,burst=6": {1, 3}, "token-bucket,rate=20/s,burst=6": {12, 1}} {
		explained, most := 0, 0
		for seed := range uint64(12) {
			s, _ := brisk(t, text, seed)
			s.trip, s.jitter, s.lost = 80*ms, 40*ms, 0.05
			x, path := asFarAs(t, s)
			if path == nil {
				t.Fatalf("%s, seed %d: nothing is supposed of the path", text, seed)
			}
			before := len(x.tl.Observations)
			if x.path = path; x.held(t.Context()) {
				explained++
			}
			most = max(most, overloaded(x, before))
		}
		if explained > want.explained || most > want.overloads {
			t.Errorf("%s: got %d of 12 explained after up to %d overloads, want %v", text, explained, most,
				want)
		}
	}
}

// overloaded is how often a quota was overloaded from a request on.
func overloaded(x *search, from int) (n int) {
	for i, o := range x.tl.Observations[from:] {
		if o.Phase == burstPhase && o.Sent-x.tl.Observations[from+i-1].Sent > time.Second {
			n++
		}
	}
	return n
}

// TestASpentQuotaRefutesRequestsInFlight: of six in 300 ms, a request after all answers is denied if the
// burst lies at the beginning of a window. An overload did not refute a limit of requests in flight (as of
// seed 25 over the network). No bucket of 50 ms a unit is spent, as it would admit that request.
func TestASpentQuotaRefutesRequestsInFlight(t *testing.T) {
	for text, want := range map[string]bool{"sliding-window-counter,rate=6/300ms": true,
		"token-bucket,rate=20/s,burst=6": false} {
		s, _ := brisk(t, text, 5)
		s.trip, s.jitter, s.lost = 80*ms, 40*ms, 0.05
		x, path := asFarAs(t, s)
		if path == nil {
			t.Fatalf("%s: nothing is supposed of the path", text)
		}
		before := len(x.tl.Observations)
		x.path = path
		refuted := !x.held(t.Context())
		spent := slices.ContainsFunc(x.tl.Observations, func(o timeline.Observation) bool {
			return o.Phase == spentPhase
		})
		if spent != want || refuted != want || want && overloaded(x, before) > 0 {
			t.Errorf("%s: got spent %v, refuted %v after %d overloads", text, spent, refuted,
				overloaded(x, before))
		}
	}
}

// TestOneLateAnswerIsNoCrowdOnASteadyPath: on a busy machine one answer that took 200 ms longer kept the
// exact search from all kinds. So 10/s with a burst of 20 was open beside counters of 3 in 74 ms.
func TestOneLateAnswerIsNoCrowdOnASteadyPath(t *testing.T) {
	for _, tt := range []struct {
		path  *trip.Steady
		trip  time.Duration
		crowd bool
	}{{nil, 100 * ms, true}, {&trip.Steady{Floor: 60 * ms}, 100 * ms, false},
		{&trip.Steady{Floor: 60 * ms}, 500 * ms, true}} {
		tl := &timeline.Timeline{}
		for i := range time.Duration(60) {
			o := timeline.Observation{Sent: i * 20 * ms, FirstByte: i*20*ms + tt.trip, Answered: true}
			if i == 30 {
				o.FirstByte += 200 * ms
			}
			tl.Observations = append(tl.Observations, o)
		}
		if got := (&search{tl: tl, path: tt.path}).crowded(); got != tt.crowd {
			t.Errorf("answers in %s, path %v: got crowded %v", tt.trip, tt.path, got)
		}
	}
}

// TestWindowsByTheFirstRequestAreSearchedOnASteadyPath: no bound refuted the last box of one in 50 ms that
// requests start anew. The search does so in some milliseconds.
func TestWindowsByTheFirstRequestAreSearchedOnASteadyPath(t *testing.T) {
	for _, path := range []*trip.Steady{nil, {Floor: 60 * ms}} {
		x := &search{o: Options{Budget: identity.Budget{MaxRequests: 5}}, far: true, path: path,
			tl: &timeline.Timeline{}}
		x.tl.Observations = make([]timeline.Observation, 1)
		x.begin()
		x.regions = x.regions[1:4] // windows by the clock, windows by the first request, and logs
		x.deepen()
		for i, r := range x.regions {
			if want := path != nil && i == 1; r.Kind.Searched != want {
				t.Errorf("path %v: %s is searched: %v", path, r.Text(), r.Kind.Searched)
			}
		}
	}
}

// TestARangeOfWindowsHoldsEach: on a steady path, where stretches are asked about alone, no range is refuted
// by the answers of one of its limits. Some answers are lost.
func TestARangeOfWindowsHoldsEach(t *testing.T) {
	for i, k := range []*space.Kind{space.Kinds()[1],
		space.CounterKind(spec.AlignUnknown, spec.CountAdmitted),
		space.CounterKind(spec.AlignUnknown, spec.CountAll)} {
		for seed := range uint64(12) {
			r := rand.New(rand.NewPCG(seed, 6))
			q, w := 1+r.Int64N(8), time.Duration(200+r.Int64N(800))*ms
			at := space.Box{Q1: q, Q2: q, T1: w, T2: w}
			limit := spec.Limit{k.Each()[0].Policy(at)}
			limit[0].Align = spec.AlignClock
			s := simulate(t, limit, seed)
			s.trip, s.jitter, s.lost = 5*ms, 30*ms, float64(seed%3)*0.03
			x := &search{o: usualBudget(), s: s, tl: &timeline.Timeline{}}
			for range 5 {
				x.send(t.Context(), plan.Phase{Rest: time.Duration(r.Int64N(3000)) * ms, Requests: 20,
					Every: time.Duration(5+r.Int64N(60)) * ms})
			}
			wide := space.Box{Q1: 1 + r.Int64N(q), Q2: q + r.Int64N(5), T1: w * 3 / 4, T2: w * 5 / 4}
			one := &space.Region{Kind: k, Steady: true, Broad: true}
			for _, b := range []space.Box{at, wide} {
				if one.Refuted(x.tl, b) {
					t.Errorf("kind %d, seed %d: got %v refuted by the answers of %d in %s", i, seed, b, q, w)
				}
			}
		}
	}
}
