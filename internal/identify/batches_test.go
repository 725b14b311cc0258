package identify

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// inBatches is a sender in front of a bucket that a timer fills. The timer started some time before the first
// request; 0: with it.
func inBatches(t *testing.T, limit spec.Limit, seed uint64, before time.Duration) *simulated {
	t.Helper()
	s := simulate(t, limit, seed)
	if before > 0 {
		created := time.Duration(s.start.UnixNano()) - before
		s.state, _ = s.limiter.Step(s.limiter.Init(), created, limit[0].Burst+1) // takes nothing
	}
	return s
}

// reset is a bucket whose timer is set anew at each beat, so that beats come up to 1 ms late.
type reset struct {
	simulated     *simulated
	fill, most, n int64
	next, apart   time.Duration
}

func (b *reset) Init() reference.State { return nil }

func (b *reset) Step(_ reference.State, at time.Duration, _ int64) (reference.State, reference.Decision) {
	for b.next <= at {
		b.n = min(b.most, b.n+b.fill)
		b.next += b.apart + time.Duration(b.simulated.random.Int64N(int64(time.Millisecond)))
	}
	if b.n == 0 {
		return nil, reference.Decision{RetryAfter: b.next - at}
	}
	b.n--
	return nil, reference.Decision{Allow: true}
}

// otherBatches says in what a bucket in batches differs from what was found; empty: in nothing.
func otherBatches(truth spec.Policy, found spec.Limit) string {
	got := found[0]
	apart := func(p spec.Policy) float64 {
		return float64(p.Fill) * float64(p.Rate.Per) / float64(p.Rate.N)
	}
	switch {
	case len(found) > 1 || got.Algorithm != truth.Algorithm || got.Refill != truth.Refill || got.Ban > 0:
		return "algorithm"
	case got.Burst != truth.Burst:
		return "quota"
	case got.Fill != truth.Fill:
		return "units at a time"
	case apart(got) < apart(truth)*0.98 || apart(got) > apart(truth)*1.02:
		return "time"
	case truth.Start == spec.StartUnknown && got.Start != truth.Start: // unknown includes the other
		return "timer"
	}
	return ""
}

// namesBatches fails the test if another limit is identified, or none.
func namesBatches(t *testing.T, s *simulated, limit spec.Limit, o Options) *identity.Result {
	t.Helper()
	res := Identify(t.Context(), s, o)
	said := fmt.Sprintf("%s: %s after %d of %d requests in %s: %s", limit, res.Summary(),
		len(res.Timeline.Observations), o.MaxRequests, res.Used.Round(time.Second), res.Stopped)
	why := ""
	if res.Verdict == identity.Identified {
		why = otherBatches(limit[0], res.Found[0].Limit)
	}
	if res.Verdict == identity.None || why != "" {
		t.Errorf("WRONG %s %s", why, said)
	} else {
		t.Log(said)
	}
	return res
}

// TestBucketsInBatchesAreNamed: the timer of Envoy before 1.31 runs free of requests, that of Bucket4j starts
// with the first one. Both were "none of these".
func TestBucketsInBatchesAreNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of planning")
	}
	for text, before := range map[string]time.Duration{
		"bucket4j:capacity=9,refillIntervally=6/1s":                              0,
		"token-bucket,rate=2/700ms,burst=5,refill=interval,fill=2,start=unknown": 132 * time.Millisecond,
		"token-bucket,rate=1/800ms,burst=4,refill=interval,fill=1":               0,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			limit := parsed(t, text)
			res := namesBatches(t, inBatches(t, limit, 1, before), limit, usualBudget())
			if res.Verdict != identity.Identified || res.Found[0].Limit.String() != limit.String() {
				t.Errorf("got %s: %s", res.Summary(), res.Stopped)
			}
			fits(t, res)
		})
	}
	t.Run("envoy-timer", func(t *testing.T) {
		t.Parallel()
		limit := parsed(t, "envoy-timer:{max_tokens: 6, tokens_per_fill: 4, fill_interval: 1s}")
		s := simulate(t, limit, 1)
		p := limit[0]
		begun := time.Duration(s.start.UnixNano()) + 700*time.Millisecond
		s.limiter = &reset{s, p.Fill, p.Burst, p.Burst, begun, p.Rate.Per}
		if res := namesBatches(t, s, limit, usualBudget()); res.Verdict != identity.Identified {
			t.Errorf("got %s: %s", res.Summary(), res.Stopped)
		}
	})
}

// randomBatches returns a random bucket in batches of at most most units. Its timer started some time before
// the first request.
func randomBatches(t *testing.T, r *rand.Rand, most int64) (limit spec.Limit, before time.Duration) {
	t.Helper()
	capacity := 2 + r.Int64N(most-1)
	fill := 1 + r.Int64N(capacity-1)
	apart := time.Duration(1 + r.Int64N(20))
	apart *= []time.Duration{100 * time.Millisecond, time.Second}[r.IntN(2)]
	apart = max(apart, time.Duration(fill)*50*time.Millisecond)
	text := fmt.Sprintf("token-bucket,rate=%d/%s,burst=%d,refill=interval,fill=%[1]d", fill, apart, capacity)
	if r.IntN(2) == 0 {
		before = 1 + time.Duration(r.Int64N(int64(apart)))
		text += ",start=unknown"
	}
	return parsed(t, text), before
}

// TestRandomBatchesAreNamed: seeds 0 to 29 were all named, each with its timer. RLCHECK_FAR asks from far
// away, with lost answers. That takes minutes for some seeds.
func TestRandomBatchesAreNamed(t *testing.T) {
	if os.Getenv("RLCHECK_SOAK") == "" {
		t.Skip("takes minutes: RLCHECK_SOAK")
	}
	seeds, named := []uint64(nil), 0
	for seed := range uint64(30) {
		seeds = append(seeds, seed)
	}
	if first, last, found := strings.Cut(os.Getenv("RLCHECK_SEED"), "-"); first != "" {
		from, _ := strconv.ParseUint(first, 10, 64)
		to := from
		if found {
			to, _ = strconv.ParseUint(last, 10, 64)
		}
		for seeds = nil; from <= to; from++ {
			seeds = append(seeds, from)
		}
	}
	for _, seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			limit, before := randomBatches(t, rand.New(rand.NewPCG(seed, 7)), 10)
			s := inBatches(t, limit, seed, before)
			if os.Getenv("RLCHECK_FAR") != "" {
				s.trip, s.jitter, s.lost = 80*time.Millisecond, 40*time.Millisecond, 0.05
			}
			if namesBatches(t, s, limit, budget(limit)).Verdict == identity.Identified {
				named++
			}
		})
	}
	if t.Logf("%d of %d are named", named, len(seeds)); 10*named < 9*len(seeds) {
		t.Errorf("want nine in ten")
	}
}

// TestBatchesThatWereNotRefutedAreNotCalledUnknown, nor are those that explain everything except late beats.
func TestBatchesThatWereNotRefutedAreNotCalledUnknown(t *testing.T) {
	const s = time.Second
	x := &search{o: usualBudget(), s: simulate(t, parsed(t, "token-bucket,rate=2/s,burst=5"), 1),
		tl: &timeline.Timeline{}}
	x.s.(*simulated).limiter = &stranger{right: x.s.(*simulated).limiter,
		step: func(_ *stranger, n int, _ time.Duration) reference.Decision {
			return reference.Decision{Allow: n*n%11%3 == 0}
		}}
	x.send(t.Context(), plan.Phase{Requests: 60, Every: 30 * time.Millisecond})
	for _, x.unfollowed = range []bool{false, true} {
		if got := x.mayBeat(); got == timers != x.unfollowed || got == tardy {
			t.Errorf("unfollowed %v: got %q", x.unfollowed, got)
		}
	}
	limit := parsed(t, "token-bucket,rate=3/5s,burst=7,refill=interval,fill=3")
	x = volleys(t, limit.String(), 1, 9, 0, s, 2*s, 4*s, 11*s, 6*s, 13*s, 3*s, 9*s, 5*s, 16*s, 2*s, 7*s)
	if x.exhausted = true; x.result().Verdict != identity.Open || x.result().Stopped != tardy {
		t.Errorf("got %s: %s", x.result().Summary(), x.result().Stopped)
	}
}
