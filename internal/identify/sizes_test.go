package identify_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/identify"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// nearby is a Sender in front of an embedded target, in the virtual time of a bubble.
type nearby struct {
	target  *lab.Target
	started time.Time
	// way is the time to the target and back. jitter is added to each at random. lost is the share of lost
	// answers.
	way, jitter time.Duration
	lost        float64
	random      *rand.Rand
	mu          sync.Mutex
}

func (s *nearby) Now() time.Duration { return time.Since(s.started) }

func (*nearby) Wait() time.Duration { return 0 }

func (s *nearby) Header() timeline.Header {
	return timeline.Header{Started: s.started, Ended: s.Now(), Tick: 2 * time.Millisecond,
		WallError: 500 * time.Millisecond}
}

// leg is the time of one way.
func (s *nearby) leg() (out time.Duration, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.way + time.Duration(s.random.Int64N(int64(s.jitter)+1)), s.random.Float64() < s.lost
}

// ask sends one request and waits for its answer.
func (s *nearby) ask(ctx context.Context) timeline.Observation {
	o := timeline.Observation{Sent: s.Now(), Answered: true, Outcome: timeline.Allowed}
	o.At = o.Sent
	there, lost := s.leg()
	time.Sleep(there)
	answer := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	r.Header.Set("X-Api-Key", "k")
	s.target.ServeHTTP(answer, r)
	back, _ := s.leg()
	time.Sleep(back)
	for name := range answer.Header() {
		o.Fields = append(o.Fields, timeline.Field{Name: name, Value: answer.Header().Get(name)})
	}
	o.FirstByte, o.Done, o.Status = s.Now(), s.Now(), answer.Code
	if answer.Code != http.StatusOK {
		o.Outcome = timeline.Denied
	}
	if lost {
		o.Answered, o.Status, o.Outcome, o.Error, o.Fields = false, 0, timeline.Unknown, "timeout", nil
		o.FirstByte, o.Done = 0, 0
	}
	return o
}

// Send sends the requests of a phase, with so many under way at once as it says, or else one by one.
func (s *nearby) Send(ctx context.Context, p identify.Phase) ([]timeline.Observation, error) {
	time.Sleep(p.Rest)
	var out []timeline.Observation
	var wg sync.WaitGroup
	var mu sync.Mutex
	admitted, denied := 0, 0
	over := func(sent int) bool {
		mu.Lock()
		defer mu.Unlock()
		return sent >= p.Requests || p.Over(admitted, denied) || p.Until > 0 && s.Now() > p.Until
	}
	free := make(chan struct{}, max(1, p.AtOnce))
	one := func() {
		o := s.ask(ctx)
		mu.Lock()
		defer mu.Unlock()
		out = append(out, o)
		switch o.Outcome {
		case timeline.Allowed:
			admitted++
		case timeline.Denied:
			denied++
		}
		<-free
	}
	begin := s.Now()
	for n := 0; ; n++ {
		if free <- struct{}{}; over(n) {
			break
		}
		time.Sleep(max(0, begin+time.Duration(n)*p.Every-s.Now()))
		wg.Go(one)
	}
	wg.Wait()
	slices.SortStableFunc(out, timeline.BySent)
	return out, nil
}

// pick returns one of some values.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// usual returns a limit that people may have: 1 a minute to some a second, of 1 to most requests at once,
// that is whole again within an hour.
func usual(r *rand.Rand, rates float64, most int64) spec.Limit {
	for {
		text := usualText(r)
		l, err := spec.Parse(text)
		if err != nil {
			panic(text + ": " + err.Error())
		}
		p := l[0]
		rate := float64(p.Rate.N) / p.Rate.Per.Seconds()
		whole := float64(p.Full()) / rate
		if rate >= 1.0/60 && rate <= rates && p.Full() <= most && whole <= 3600 && whole >= 0.1 {
			return l
		}
	}
}

func usualText(r *rand.Rand) string {
	round := func(most float64) int64 { // with one digit or two
		x := math.Exp(r.Float64() * math.Log(most))
		unit := math.Pow(10, math.Floor(math.Log10(x)))
		if r.IntN(3) == 0 && unit > 1 {
			unit /= 10
		}
		return max(1, int64(math.Round(x/unit)*unit))
	}
	n, burst := round(5000), round(5000)
	window := pick(r, "1s", "1s", "1s", "2s", "5s", "10s", "30s", "1m", "1m", "5m", "10m", "1h", "1500ms",
		"100ms")
	switch r.IntN(20) {
	case 0, 1, 2, 3, 4, 5:
		return fmt.Sprintf("%s,rate=%d/%s,burst=%d", pick(r, "token-bucket", "gcra", "leaky-bucket"), n,
			pick(r, "1s", "1s", "1m", "1h"), burst)
	case 6, 7, 8, 9:
		return fmt.Sprintf("fixed-window,rate=%d/%s,align=first", n, window)
	case 10, 11, 12:
		return fmt.Sprintf("fixed-window,rate=%d/%s,align=clock", n, window)
	case 13, 14, 15:
		return fmt.Sprintf("sliding-window-log,rate=%d/%s", n, window)
	case 16, 17:
		return fmt.Sprintf("sliding-window-counter,rate=%d/%s,align=clock", n, window)
	case 18:
		return fmt.Sprintf("leaky-bucket-queue,rate=%d/s,queue=%d", 1+r.IntN(50), 1+r.IntN(20))
	default:
		return pick(r, fmt.Sprintf("sliding-window-log,rate=%d/%s,count=all", n, window),
			fmt.Sprintf("fixed-window,rate=%d/%s,align=first,refresh=all", n, window),
			fmt.Sprintf("sliding-window-counter,rate=%d/%s,align=first,count=all", n, window))
	}
}

// apart says in what a truth differs from a candidate that can be seen from outside; empty: in nothing.
func apart(truth spec.Limit, c *identify.Candidate) string {
	p, got := truth[0], c.Limit[0]
	rate := func(p spec.Policy) float64 { return float64(p.Rate.N) / p.Rate.Per.Seconds() }
	single := p.Full() == 1 && got.Full() == 1
	burst := c.Measured.Burst
	switch {
	case len(c.Limit) > 1 || got.Ban != p.Ban || got.TTL != p.TTL:
		return "rare"
	case !slices.Contains(c.Class, p.Algorithm) && !single:
		return "algorithm"
	case burst.Lo > float64(p.Full()) || burst.Hi < float64(p.Full()):
		return "measured quota"
	case math.Abs(float64(got.Full()-p.Full())) > math.Max(0.02*float64(p.Full()), (burst.Hi-burst.Lo)/2):
		return "quota"
	case c.Measured.Rate.Lo > rate(p)*1.0001 || c.Measured.Rate.Hi < rate(p)*0.9999:
		return "measured rate"
	case math.Abs(rate(got)/rate(p)-1) > 0.03:
		return "rate"
	case got.Count != p.Count && p.Algorithm != spec.FixedWindow && !single:
		return "count"
	case (got.Align == spec.AlignFirst) != (p.Align == spec.AlignFirst) && !single:
		return "align"
	case got.Refresh != p.Refresh && !single:
		return "refresh"
	}
	return ""
}

// score counts answers: named, a list of at most three that begins with the truth, other open ones, and
// wrong names. refuted counts the SPECs that are listed and that check refutes, over those whose answers are
// more than 12 times the quota and 200.
type score struct {
	named, listed, open, none, wrong, refuted, over, used, all atomic.Int64
}

// add judges the answer about one limit.
func (s *score) add(t *testing.T, truth spec.Limit, res *identify.Result) {
	t.Helper()
	s.all.Add(1)
	sent := len(res.Timeline.Observations)
	s.used.Add(int64(sent))
	if int64(sent) > 12*truth[0].Full()+200 {
		s.over.Add(1)
		t.Errorf("%s: got %d requests, want at most %d", truth, sent, 12*truth[0].Full()+200)
	}
	for i := range res.Found {
		j, err := check.Judge(res.Timeline, res.Found[i].Limit, check.Options{SkipMeasure: true})
		if err != nil || j.Verdict == result.Fail {
			s.refuted.Add(1)
			t.Errorf("%s: lists %s, which check refutes", truth, res.Found[i].Limit)
		}
	}
	why := "nothing found"
	if len(res.Found) > 0 {
		why = apart(truth, &res.Found[0])
	}
	text := fmt.Sprintf("%s: %s %s after %d in %s", truth, why, res.Summary(), sent, res.Timeline.End())
	switch {
	case res.Verdict == identify.Identified && why == "":
		s.named.Add(1)
	case res.Verdict == identify.Identified:
		s.wrong.Add(1)
		t.Errorf("wrong name: %s", text)
		return
	case why == "" && len(res.Found) <= 3:
		s.listed.Add(1)
		text = "listed: " + text
	case res.Verdict == identify.None:
		s.none.Add(1)
		t.Errorf("none: %s", text)
	default:
		s.open.Add(1)
		text = "open: " + text
	}
	t.Log(text)
}

func (s *score) String() string {
	return fmt.Sprintf("%d: %d named, %d listed with the truth first of at most 3, %d open, %d none, "+
		"%d wrong; %d refuted SPECs listed, %d over budget, %d requests on average", s.all.Load(),
		s.named.Load(), s.listed.Load(), s.open.Load(), s.none.Load(), s.wrong.Load(), s.refuted.Load(),
		s.over.Load(), s.used.Load()/max(1, s.all.Load()))
}

// asked lets identify ask a target.
func asked(t *testing.T, limit spec.Limit, seed uint64, far bool, most int,
	every time.Duration) *identify.Result {
	tgt, err := lab.New(lab.Options{Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	s := &nearby{target: tgt, started: time.Now(), way: 60 * time.Microsecond, jitter: 60 * time.Microsecond,
		random: rand.New(rand.NewPCG(seed, 1))}
	if far {
		s.way, s.jitter, s.lost = 40*time.Millisecond, 20*time.Millisecond, 0.05
	}
	time.Sleep(time.Duration(s.random.Int64N(int64(time.Hour))))
	s.started = time.Now()
	whole := time.Duration(float64(limit[0].Rate.Per) * float64(limit[0].Full()) / float64(limit[0].Rate.N))
	return identify.Identify(t.Context(), s, identify.Options{Fresh: true, Think: 10 * time.Second,
		Spent:  transport.CPUTime,
		Budget: identify.Budget{MaxRequests: most, Every: every, MaxTime: 5*time.Minute + 20*whole}})
}

// seeds returns the seeds 0 to n-1, or those of RLCHECK_SEED: one, or a range with a dash.
func seeds(n uint64) (out []uint64) {
	from, to := uint64(0), n-1
	if only := os.Getenv("RLCHECK_SEED"); only != "" {
		first, last, _ := strings.Cut(only, "-")
		from, _ = strconv.ParseUint(first, 10, 64)
		to, _ = strconv.ParseUint(cmp.Or(last, first), 10, 64)
	}
	for seed := from; seed <= to; seed++ {
		out = append(out, seed)
	}
	return out
}

// TestUsualLimitsOfAllSizes: limits from 1 a minute to 1,000 a second get their name, or a list of at most
// three that begins with it.
func TestUsualLimitsOfAllSizes(t *testing.T) {
	n, every, most := uint64(500), 100*time.Microsecond, int64(5000)
	if testing.Short() {
		n, most = 4, 30
	} else if os.Getenv("RLCHECK_SOAK") == "" {
		n, most = 10, 60
	}
	if text := os.Getenv("RLCHECK_EVERY"); text != "" {
		every, _ = time.ParseDuration(text)
	}
	var s score
	t.Run("seeds", func(t *testing.T) {
		for _, seed := range seeds(n) {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				limit := usual(rand.New(rand.NewPCG(seed, 0)), 1000, most)
				var res *identify.Result
				began := time.Now()
				synctest.Test(t, func(t *testing.T) {
					res = asked(t, limit, seed, os.Getenv("RLCHECK_FAR") != "",
						int(12*limit[0].Full()+200), every)
				})
				s.add(t, limit, res)
				t.Logf("cost %s", time.Since(began))
			})
		}
	})
	t.Log(&s)
	if all := s.all.Load(); all >= 10 && 100*(s.named.Load()+s.listed.Load()) < 90*all {
		t.Errorf("got %s, want nine in ten named or listed first", &s)
	}
}

// TestAFastQueueIsNamedExactly: 21 a second was named 22, as steps of a clock hide a part of 47 ms. Delays do
// not.
func TestAFastQueueIsNamedExactly(t *testing.T) {
	limit, err := spec.Parse("leaky-bucket-queue,rate=21/s,queue=2")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var s score
		s.add(t, limit, asked(t, limit, 296, false, 236, 100*time.Microsecond))
	})
}

// TestBansAreNotNamedWrongly: bans are no kind that is asked, and a limiter that bans gets no other name. A
// ban that is shorter than what is measured of a window is not seen.
func TestBansAreNotNamedWrongly(t *testing.T) {
	n := uint64(6)
	if testing.Short() {
		n = 2
	} else if os.Getenv("RLCHECK_SOAK") != "" {
		n = 200
	}
	for _, seed := range seeds(n) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			window := pick(r, "1s", "1s", "2s", "5s", "1m")
			text := fmt.Sprintf("%s,rate=%d/%s", pick(r, "sliding-window-log", "fixed-window",
				"fixed-window,align=first", "sliding-window-counter"), 2+r.IntN(40), window)
			if r.IntN(4) == 0 {
				text = fmt.Sprintf("token-bucket,rate=%d/s,burst=%d", 1+r.IntN(30), 2+r.IntN(40))
			}
			limit, err := spec.Parse(text + ",ban=" + pick(r, window, window, "3s", "1m"))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				res := asked(t, limit, seed, false, int(12*limit[0].Full()+200), 100*time.Microsecond)
				if t.Logf("%s: %s", limit, res.Summary()); res.Verdict == identify.Identified {
					t.Errorf("%s: got the name %s", limit, res.Summary())
				}
			})
		})
	}
}
