package identify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// simulated is a Sender in virtual time in front of a reference limiter.
type simulated struct {
	t       *testing.T
	limiter reference.Limiter
	state   reference.State
	start   time.Time
	now     time.Duration
	// decided is when the last request was decided. The next one is decided later.
	decided time.Duration
	// trip is the shortest time from a request to its answer. jitter is added to it at random. lost is the
	// share of lost answers.
	trip, jitter time.Duration
	lost         float64
	// forward is the part of trip that is the way there. Half of jitter is added to each way. 0: no network;
	// a request is decided at any time until its answer.
	forward time.Duration
	// busy is the share of answers that are late, by up to slow.
	busy   float64
	slow   time.Duration
	random *rand.Rand
	// cost is how many units each request costs, 0: one.
	cost int64
	// policy is what answers state about their limit (RateLimit-Policy). Empty: they state nothing, nor when
	// to come back.
	policy string
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
	for len(out) == 0 || len(out) < p.Requests && !p.Over(s.known(out)) {
		trip, late, back := s.legs()
		decided := max(s.decided, s.now+late)
		s.decided = decided
		var d reference.Decision
		s.state, d = s.limiter.Step(s.state, decided+time.Duration(s.start.UnixNano()), max(s.cost, 1))
		o := timeline.Observation{Sent: s.now, FirstByte: max(s.now+trip, decided+d.Delay+back),
			Answered: true, Status: 200, Outcome: timeline.Allowed}
		o.At, o.Done = s.now, o.FirstByte
		if !d.Allow {
			o.Outcome, o.Status = timeline.Denied, 429
		}
		if s.policy != "" {
			o.Fields = timeline.Fields{{Name: "RateLimit-Policy", Value: s.policy}}
			if !d.Allow {
				after := strconv.FormatInt(int64((d.RetryAfter+time.Second-1)/time.Second), 10)
				o.Fields = append(o.Fields, timeline.Field{Name: "Retry-After", Value: after})
			}
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

// legs returns the time of a request, the part of it until it is decided, and its way back.
func (s *simulated) legs() (trip, late, back time.Duration) {
	random := func(most time.Duration) time.Duration {
		return time.Duration(s.random.Int64N(int64(most) + 1))
	}
	if s.forward == 0 {
		trip = s.trip + random(s.jitter)
		if s.busy > 0 && s.random.Float64() < s.busy {
			trip += random(s.slow)
		}
		return trip, random(trip), 0
	}
	late, back = s.forward+random(s.jitter/2), s.trip-s.forward+random(s.jitter/2)
	return late + back, late, back
}

// known counts the admissions and denials whose answers are there when the next request is sent.
func (s *simulated) known(out []timeline.Observation) (admitted, denied int) {
	for i := range out {
		switch o := &out[i]; {
		case o.FirstByte > s.now:
		case o.Outcome == timeline.Allowed:
			admitted++
		case o.Outcome == timeline.Denied:
			denied++
		}
	}
	return admitted, denied
}

// randomLimit returns a random limit that people may have: 1 to most requests in 100 ms to 20 s.
func randomLimit(r *rand.Rand, most int64) spec.Limit {
	quota := 1 + r.Int64N(most)
	window := time.Duration(1+r.Int64N(20)) * []time.Duration{100 * time.Millisecond,
		time.Second}[r.IntN(2)]
	window = max(window, time.Duration(quota)*50*time.Millisecond)
	var text string
	switch axis := r.IntN(4); r.IntN(9) {
	case 0, 1:
		name := []string{"token-bucket", "gcra", "leaky-bucket"}[r.IntN(3)]
		text = fmt.Sprintf("%s,rate=%d/%s,burst=%d", name, quota, window, quota)
		text += []string{"", "", ",count=all", ",refill=interval"}[axis]
		if axis == 3 {
			text = strings.Replace(text, "gcra", "token-bucket", 1) + fmt.Sprintf(",fill=%d", quota)
		}
	case 2:
		text = fmt.Sprintf("leaky-bucket-queue,rate=%d/%s,queue=%d", quota, window, quota)
		if axis == 0 {
			text += fmt.Sprintf(",undelayed=%d", quota/2)
		}
	case 3, 4, 5:
		text = fmt.Sprintf("fixed-window,rate=%d/%s,", quota, window) + []string{"align=clock",
			fmt.Sprintf("phase=%s", time.Duration(r.Int64N(int64(window)))), "align=first",
			"align=first,refresh=" + []string{"admitted", "all"}[r.IntN(2)]}[axis]
	case 6:
		text = fmt.Sprintf("sliding-window-log,rate=%d/%s", quota, window) +
			[]string{"", ",boundary=closed", ",count=all", ",count=all"}[axis]
	default:
		text = fmt.Sprintf("sliding-window-counter,rate=%d/%s", quota, window) +
			[]string{"", ",align=first", ",rounding=nearest", ",align=first,count=all"}[axis]
	}
	l, err := spec.Parse(text)
	if err != nil {
		panic(text + ": " + err.Error())
	}
	return l
}

// budget is the budget for named policies: 10 times the quota and 200 requests.
func budget(limit spec.Limit) Options {
	return Options{Fresh: true, Budget: Budget{MaxRequests: int(10*limit[0].Full()) + 200,
		Every: 20 * time.Millisecond, MaxTime: 20 * time.Minute}}
}

// TestALogIsIdentified: no random limit that is always tried is a log.
func TestALogIsIdentified(t *testing.T) {
	t.Parallel()
	limit := parsed(t, "sliding-window-log,rate=5/2s")
	res := Identify(t.Context(), simulate(t, limit, 1), budget(limit))
	if res.Verdict != Identified {
		t.Fatalf("got %s, want it identified", res.Summary())
	}
	right(t, limit, res)
}

// If others used the quota before, no name is wrong, and no known limit is called unknown.
func TestAQuotaInUseIsNoAccusation(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of planning")
	}
	for _, text := range []string{"token-bucket,rate=5/s,burst=5", "fixed-window,rate=7/3s,align=first"} {
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

// right fails the test unless the identified limit is the truth and passes on the recording.
func right(t *testing.T, limit spec.Limit, res *Result) {
	t.Helper()
	if why := differs(limit[0], res.Found[0]); why != "" && (why != "rate" || res.Sharper == nil) {
		t.Errorf("%s: got %s, whose %s is another one", limit, res.Found[0].Limit, why)
	}
	j, err := check.Judge(res.Timeline, res.Found[0].Limit, check.Options{SkipMeasure: true})
	if err != nil || j.Verdict == result.Fail {
		t.Errorf("%s on its own recording: got %s %s %v, want no fail", res.Found[0].Limit, j.Verdict,
			j.Reason, err)
	}
}

// differs says in what a truth can be told apart from what was found; empty: in nothing. A bucket that is
// filled a whole quota at a time is a fixed window that happens to start with the first request.
func differs(truth spec.Policy, found Candidate) string {
	got := found.Limit[0]
	perSecond := func(p spec.Policy) float64 { return float64(p.Rate.N) / p.Rate.Per.Seconds() }
	batches := truth.Fill == truth.Full() && truth.Refill == spec.RefillInterval
	single := truth.Full() == 1 && len(found.Class) > 1
	switch rate := perSecond(truth); {
	case !slices.Contains(found.Class, truth.Algorithm) && !single &&
		!(batches && got.Algorithm == spec.FixedWindow):
		return "algorithm"
	case got.Full() != truth.Full():
		return "quota"
	case len(found.Limit) > 1 || got.Ban == 0 != (truth.Ban == 0):
		return "rare axis"
	case found.Measured.Rate.Lo > rate*1.0001 || found.Measured.Rate.Hi < rate*0.9999:
		return "measured rate"
	case got.Count != truth.Count && truth.Algorithm != spec.FixedWindow && !single:
		return "count"
	case (got.Align == spec.AlignFirst) != (truth.Align == spec.AlignFirst) && !single:
		return "align"
	case got.Refresh != truth.Refresh && !batches && !single:
		return "refresh"
	case perSecond(got) < rate*0.98 || perSecond(got) > rate*1.02:
		return "rate"
	}
	return ""
}

// harness runs Identify over random limits that state nothing about themselves.
type harness struct {
	t *testing.T
	// most is the largest quota. slow makes round trips of 80 to 120 ms and loses one answer in twenty. odd
	// makes windows up to 3 % longer, to times that nobody would write.
	most int64
	// busy makes a random share of the answers late, by up to 10 to 600 ms.
	slow, odd, busy bool
	// network makes much of each round trip constant, with a random part of it on the way there.
	network bool
	// foreign lets others use some of the quota before, and Identify knows that they may have.
	foreign bool
	// right, open and wrong count the answers. short counts open limits that recover too soon to be told from
	// there. coarse counts right names whose SPEC is more than 2 % off, as the answer said it may be. used
	// sums the requests. least is the share of names demanded of all but short, in percent.
	right, open, wrong, short, coarse, used atomic.Int64
	least                                   int64
}

// seeds runs seeds 0 to n-1, or those of RLCHECK_SEED: one, or a range with a dash.
func (h *harness) seeds(n uint64) {
	from, to := uint64(0), n
	only, replay := os.LookupEnv("RLCHECK_SEED")
	if replay {
		first, last, _ := strings.Cut(only, "-")
		from, _ = strconv.ParseUint(first, 10, 64)
		to, _ = strconv.ParseUint(cmp.Or(last, first), 10, 64)
		to++
	}
	h.t.Run("seeds", func(t *testing.T) {
		for seed := from; seed < to; seed++ {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				h.seed(t, seed)
			})
		}
	})
	all := h.right.Load() + h.open.Load() + h.wrong.Load()
	h.t.Logf("%d right, of which %d within 2 %%; %d open, of which %d recover too soon to be told; "+
		"%d wrong; %d requests on average", h.right.Load(), h.right.Load()-h.coarse.Load(), h.open.Load(),
		h.short.Load(), h.wrong.Load(), h.used.Load()/max(1, all))
	if long := all - h.short.Load(); from+1 < to && 100*h.right.Load() < h.least*long {
		h.t.Errorf("got %d of %d named, want %d %%", h.right.Load(), long, h.least)
	}
}

// tooShort tells whether a limit recovers in less than ten of the slowest round trips. A request is decided
// at any time until its answer, so each experiment leaves two round trips of a window open. That is a fifth
// of such a window or more, and a name needs 4 %. A name there is luck.
func (h *harness) tooShort(p spec.Policy) bool {
	const slowest = 120 * time.Millisecond
	return h.slow && p.Rate.Per*time.Duration(p.Full())/time.Duration(p.Rate.N) < 10*slowest
}

// seed identifies one limit. A wrong name is an error; an open question alone is none.
func (h *harness) seed(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	limit := randomLimit(r, h.most)
	if h.odd {
		limit[0].Rate.Per += time.Duration(r.Int64N(int64(limit[0].Rate.Per) * 3 / 100))
	}
	s, o := simulate(t, limit, seed), budget(limit)
	if h.slow {
		s.trip, s.jitter, s.lost = 80*time.Millisecond, 40*time.Millisecond, 0.05
	}
	if h.busy {
		s.busy, s.slow = r.Float64(), time.Duration(10*math.Pow(60, r.Float64()))*time.Millisecond
	}
	if h.foreign {
		o.Fresh = false
		before := time.Duration(r.Int64N(int64(limit[0].Rate.Per)))
		for range r.Int64N(limit[0].Full() + 1) {
			s.state, _ = s.limiter.Step(s.state, time.Duration(s.start.UnixNano())-before, 1)
		}
	}
	if h.network {
		s.forward = 1 + time.Duration(r.Int64N(int64(s.trip)))
	}
	o.OnPhase = func(p Phase, tl *timeline.Timeline, left []string) {
		if only, replay := os.LookupEnv("RLCHECK_SEED"); replay && !strings.Contains(only, "-") {
			t.Logf("%s: rest %s, %d requests, %d kinds", p.Name, p.Rest, len(tl.Observations), len(left))
		}
	}
	res := Identify(t.Context(), s, o)
	h.used.Add(int64(len(res.Timeline.Observations)))
	said := fmt.Sprintf("seed %d: %s: %s after %d of %d requests in %s: %s", seed, limit, res.Summary(),
		len(res.Timeline.Observations), o.MaxRequests, res.Used.Round(time.Second), res.Stopped)
	why := ""
	if res.Verdict == Identified {
		why = differs(limit[0], res.Found[0])
	}
	if why == "rate" && res.Sharper != nil {
		h.coarse.Add(1)
		why = ""
	}
	switch {
	case res.Verdict == None || why != "":
		h.wrong.Add(1)
		t.Errorf("WRONG %s %s; replay: RLCHECK_SEED=%d go test ./internal/identify -run %s", why, said, seed,
			h.t.Name())
	case res.Verdict == Open:
		if h.open.Add(1); h.tooShort(limit[0]) {
			h.short.Add(1)
		}
		t.Log("open " + said)
	default:
		h.right.Add(1)
		t.Log("right " + said)
		right(t, limit, res)
	}
}

// Random limits of all algorithms and axes are named rightly, although they state nothing. RLCHECK_SOAK runs
// 500 seeds of any size in a quarter of an hour. Of these 491 were named, and none wrongly. Four others may
// have a ttl, four are counters whose rounding or alignment is open, and one is a queue.
func TestRandomLimitsAreNamed(t *testing.T) {
	h := &harness{t: t, most: 6, least: 85}
	switch {
	case os.Getenv("RLCHECK_SOAK") != "":
		h.most, h.least = 40, 98
		h.seeds(500)
	case testing.Short():
		h.seeds(3)
	default:
		h.seeds(5)
	}
}

// Of windows that nobody would write more is left open, as the exact search asks about single times. No name
// is wrong, and no limit is called unknown. RLCHECK_SOAK runs 500 seeds.
func TestNoNameIsWrongOfOddWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	h := &harness{t: t, most: 12, odd: true, least: 50}
	h.seeds(map[bool]uint64{false: 2, true: 500}[os.Getenv("RLCHECK_SOAK") != ""])
}

// If others used some of the quota before, the first answers may refute the truth. No name is wrong then
// either. RLCHECK_SOAK runs 500 seeds.
func TestNoNameIsWrongOfAQuotaInUse(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	h := &harness{t: t, most: 6, foreign: true}
	h.seed(t, 110) // a unit came back as fast as requests were sent, in 20.51 ms, and denied requests counted
	if os.Getenv("RLCHECK_SOAK") != "" {
		h.seeds(500)
	}
}

// From far away and with lost answers more is left open, but no name is wrong. The goal is 95 of 100 limits
// that last long enough. It was 41 of 48, and less than four fifths is a step back. RLCHECK_SOAK runs 500
// seeds.
func TestNoNameIsWrongFromFarAway(t *testing.T) {
	h := &harness{t: t, most: 6, slow: true, least: 80}
	if os.Getenv("RLCHECK_SOAK") == "" {
		t.Skip("takes an hour: RLCHECK_SOAK")
	}
	h.seeds(500)
}

// The same over a network, where most of each round trip is the way. Of seeds 0 to 99, 96 were named, none
// wrongly. The others regain a unit in 50 to 67 ms, of which one may never be told, or are a counter of
// 600 ms.
func TestNoNameIsWrongOverANetwork(t *testing.T) {
	h := &harness{t: t, most: 6, slow: true, network: true, least: 95}
	if os.Getenv("RLCHECK_SOAK") == "" {
		t.Skip("takes an hour: RLCHECK_SOAK")
	}
	h.seeds(500)
}

func TestUnreachableStopsAtOnce(t *testing.T) {
	limit := spec.Limit{{Algorithm: spec.FixedWindow, Rate: spec.Rate{N: 5, Per: time.Second}}}
	s := simulate(t, limit, 1)
	s.lost = 1
	res := Identify(t.Context(), s, budget(limit))
	if n := len(res.Timeline.Observations); res.Verdict != Open || n != MostLost {
		t.Errorf("nothing answers: got %s after %d requests, want open after %d", res.Verdict, n, MostLost)
	}
}

// thinking is a sender whose clock is ahead of its recording by a second.
type thinking struct{ *simulated }

func (s thinking) Now() time.Duration { return s.now + time.Second }

func TestTheTimeThatWasUsedIsTold(t *testing.T) {
	limit := spec.Limit{{Algorithm: spec.FixedWindow, Rate: spec.Rate{N: 5, Per: time.Second}}}
	s := simulate(t, limit, 1)
	s.lost = 1
	res := Identify(t.Context(), thinking{s}, budget(limit))
	if want := s.now + time.Second; res.Used != want {
		t.Errorf("%s are told, want the %s that were used", res.Used, want)
	}
}

// TestNoNameIsRefutedBeforeItsBeginning: a client that is silent for long is forgotten, and has intervals of
// its own again. Nothing explained that, so the search began anew and named windows by the clock. Others who
// use the quota before make no difference.
func TestNoNameIsRefutedBeforeItsBeginning(t *testing.T) {
	const intervals = "token-bucket,rate=5/2s,burst=5,refill=interval,fill=5"
	for _, tt := range []struct {
		truth, found string
		others, more bool
	}{
		{intervals + ",ttl=3s", "fixed-window,rate=5/2s,align=unknown", false, true},
		{intervals + ",ttl=9s", "fixed-window,rate=5/2s,align=unknown", false, false},
		{"fixed-window,rate=5/2s", "fixed-window,rate=5/2s,align=unknown", true, false},
		{"fixed-window,rate=5/2s,align=first", "fixed-window,rate=5/2s,align=first", true, false},
	} {
		s := simulate(t, parsed(t, tt.truth), 1)
		if tt.others {
			s.state, _ = s.limiter.Step(s.state, time.Duration(s.start.UnixNano())-time.Second, 3)
		}
		x := begun(s, usualBudget(), nil)
		some := Phase{Rest: 3900 * ms, Requests: 50, Every: 100 * ms}
		x.send(t.Context(), some)
		x.skip, x.regions = len(x.tl.Observations), []*Region{known(parsed(t, tt.found)[0])}
		x.send(t.Context(), some)
		res := &Result{Found: []Candidate{{Limit: parsed(t, tt.found)}}}
		answer{x}.name(res)
		if told := strings.Contains(res.Stopped, "only the answers since a rest"); told != tt.more ||
			told && res.Verdict == Identified {
			t.Errorf("%s: got %s, stopped by %q; want it refuted: %v", tt.truth, res.Verdict, res.Stopped,
				tt.more)
		}
	}
}

// TestASecondBeginningThatSendsNothing: others use the quota, and the budget ends before it is surely whole
// again. Then the answer is about what was recorded before.
func TestASecondBeginningThatSendsNothing(t *testing.T) {
	limit := parsed(t, "fixed-window,rate=20/3s,align=first")
	third := func(_ *stranger, n int, _ time.Duration) reference.Decision {
		return reference.Decision{Allow: n%3 == 0}
	}
	for most := time.Second / 5; most < 2*time.Second; most += time.Second / 10 {
		s, o := simulate(t, limit, 1), budget(limit)
		s.limiter = &stranger{right: s.limiter, step: third}
		o.Fresh, o.MaxTime = false, most
		res := Identify(t.Context(), s, o)
		c := res.Timeline.Counts()
		if n := c.Allowed + c.Denied + c.Unknown; n == 0 || n+res.Before != res.Sent() {
			t.Errorf("%s: %d were recorded and %d before, of %d", most, n, res.Before, res.Sent())
		}
	}
}
