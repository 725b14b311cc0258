package identify

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// simulated is a Sender in virtual time, in front of a reference limiter.
type simulated struct {
	t       *testing.T
	limiter reference.Limiter
	state   reference.State
	start   time.Time
	now     time.Duration
	// trip is the least time from a request to its answer, jitter what comes on top; lost is the share of
	// lost answers.
	trip, jitter time.Duration
	lost         float64
	random       *rand.Rand
}

func simulate(t *testing.T, limit spec.Limit, seed uint64) *simulated {
	l, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	return &simulated{t: t, limiter: l, state: l.Init(), trip: time.Millisecond, jitter: time.Millisecond,
		start: time.Unix(1_800_000_000, random.Int64N(int64(time.Hour))), random: random}
}

func (s *simulated) Now() time.Duration { return s.now }

func (s *simulated) Wait() time.Duration { return 0 }

func (s *simulated) Header() timeline.Header {
	return timeline.Header{Started: s.start, WallError: 500 * time.Millisecond, Ended: s.now}
}

func (s *simulated) Send(_ context.Context, p Phase) ([]timeline.Observation, error) {
	var out []timeline.Observation
	s.now += p.Rest
	end := s.now
	for denied := 0; len(out) < p.Requests && (p.Denials == 0 || denied < p.Denials); {
		trip := s.trip + time.Duration(s.random.Int64N(int64(s.jitter)+1))
		decided := s.now + time.Duration(s.random.Int64N(int64(trip)+1))
		var d reference.Decision
		s.state, d = s.limiter.Step(s.state, decided+time.Duration(s.start.UnixNano()), 1)
		o := timeline.Observation{Sent: s.now, FirstByte: max(s.now+trip, decided+d.Delay), Answered: true,
			Status:  200,
			Outcome: timeline.Allowed}
		o.At, o.Done = s.now, o.FirstByte
		if !d.Allow {
			o.Outcome, o.Status = timeline.Denied, 429
			denied++
		}
		if s.random.Float64() < s.lost {
			o.Answered, o.Status, o.Outcome, o.Error = false, 0, timeline.Unknown, "timeout"
		}
		end = max(end, o.FirstByte)
		out = append(out, o)
		s.now += max(p.Every, time.Microsecond)
	}
	s.now = max(s.now, end)
	return out, nil
}

// randomLimit returns any policy that people have: quotas of 1 to 40, windows of 1 s to 1 min.
func randomLimit(r *rand.Rand) spec.Limit {
	quota := 1 + r.Int64N(40)
	window := time.Duration(1+r.Int64N(20)) * []time.Duration{100 * time.Millisecond,
		time.Second}[r.IntN(2)]
	window = max(window, time.Duration(quota)*40*time.Millisecond)
	k := kinds()[r.IntN(len(kinds()))]
	b := box{quota, quota, window, window}
	if k.paced {
		b.t1 = max(window/time.Duration(quota), 50*time.Millisecond)
		b.t2 = b.t1
	}
	p := k.policy(b)
	if p.Align == spec.AlignUnknown && r.IntN(2) == 0 {
		p.Align, p.PhaseFrom = spec.AlignPhase, time.Duration(r.Int64N(int64(window)))
		p.PhaseTo = p.PhaseFrom
	}
	l, err := spec.Parse(p.String())
	if err != nil {
		panic(err)
	}
	return l
}

// budget is what the named policies below are found with: 10 times the quota and 200 requests.
func budget(limit spec.Limit) Options {
	return Options{MaxRequests: int(10*limit[0].Full()) + 200, Every: 20 * time.Millisecond,
		MaxTime: 20 * time.Minute, Fresh: true}
}

func TestKindsAreIdentified(t *testing.T) {
	for _, text := range []string{
		"token-bucket,rate=5/s,burst=10",
		"fixed-window,rate=20/3s,align=first",
		"sliding-window-log,rate=10/2s",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			limit, err := spec.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			res := Identify(t.Context(), simulate(t, limit, 1), budget(limit))
			if res.Verdict != Identified {
				t.Fatalf("%s after %d requests: got %s %+v, want it identified", text,
					len(res.Timeline.Observations),
					res.Verdict, res.Found)
			}
			right(t, limit, res)
		})
	}
}

// Where others used the quota before, nothing is called by a wrong name, and no limit that is known is called
// unknown.
func TestAQuotaInUseIsNoAccusation(t *testing.T) {
	for _, text := range []string{"token-bucket,rate=5/s,burst=10", "fixed-window,rate=20/3s,align=first"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			limit, err := spec.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			s, o := simulate(t, limit, 1), budget(limit)
			o.Fresh = false
			for range limit[0].Full() / 2 {
				s.state, _ = s.limiter.Step(s.state, time.Duration(s.start.UnixNano())-time.Second, 1)
			}
			res := Identify(t.Context(), s, o)
			t.Logf("%s after %d requests: %s", res.Verdict, len(res.Timeline.Observations), res.Stopped)
			if res.Verdict == None {
				t.Errorf("%s: got %s, and it is one that is known", limit, res.Verdict)
			}
			if res.Verdict == Identified {
				right(t, limit, res)
			}
		})
	}
}

// right tells whether what was identified is the truth: its algorithm, its quota, and its rate to 2 %; and
// that its SPEC passes on what was recorded.
func right(t *testing.T, limit spec.Limit, res *Result) {
	t.Helper()
	truth, found := limit[0], res.Found[0]
	rate := float64(truth.Rate.N) * float64(time.Second) / float64(truth.Rate.Per)
	got := float64(found.Limit[0].Rate.N) * float64(time.Second) / float64(found.Limit[0].Rate.Per)
	if !slices.Contains(found.Class, truth.Algorithm) || found.Limit[0].Full() != truth.Full() ||
		got < rate*0.98 || got > rate*1.02 || found.Limit[0].Count != truth.Count {
		t.Errorf("%s: got %s, which is another one", limit, found.Limit)
	}
	j, err := check.Judge(res.Timeline, found.Limit, check.Options{SkipMeasure: true})
	if err != nil || j.Verdict != verdict.Pass {
		t.Errorf("%s on its own recording: got %s %s %v, want pass", found.Limit, j.Verdict, j.Reason, err)
	}
}

// No name is wrong: an open question is allowed. More seeds take minutes: RLCHECK_SOAK.
func TestNoNameIsWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	seeds := uint64(1)
	if os.Getenv("RLCHECK_SOAK") != "" {
		seeds = 500
	}
	var named, open atomic.Int64
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			limit := randomLimit(rand.New(rand.NewPCG(seed, 2)))
			if limit[0].Algorithm == spec.LeakyBucketQueue && seeds < 500 {
				continue // takes long
			}
			t.Run(limit.String(), func(t *testing.T) {
				t.Parallel()
				s := simulate(t, limit, seed)
				if seed%2 == 1 && seeds == 500 { // a network
					s.trip, s.jitter, s.lost = 80*time.Millisecond, 40*time.Millisecond, 0.05
				}
				res := Identify(t.Context(), s, budget(limit))
				switch res.Verdict {
				case Identified:
					named.Add(1)
					right(t, limit, res)
				case Open:
					open.Add(1)
				default:
					t.Errorf("%s: got %s, and it is one that is known", limit, res.Verdict)
				}
			})
		}
	})
	t.Logf("%d named, %d open", named.Load(), open.Load())
}

func TestUnreachableStopsAtOnce(t *testing.T) {
	limit := spec.Limit{{Algorithm: spec.FixedWindow, Rate: spec.Rate{N: 5, Per: time.Second}}}
	s := simulate(t, limit, 1)
	s.lost = 1
	res := Identify(t.Context(), s, budget(limit))
	if n := len(res.Timeline.Observations); res.Verdict != Open || n != 1 {
		t.Errorf("nothing answers: got %s after %d requests, want open after 1", res.Verdict, n)
	}
}
