package check

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAlternativesAreSPECs: every policy that may be named beside a FAIL can be entered again as a SPEC.
func TestAlternativesAreSPECs(t *testing.T) {
	for _, text := range []string{
		"token-bucket,rate=10/s,burst=20", "gcra,rate=100/1m,burst=5", "leaky-bucket-queue,rate=10/s,queue=5",
		"fixed-window,rate=10/1s", "sliding-window-log,rate=10/1s", "sliding-window-counter,rate=10/1s",
		"concurrency,limit=10,hold=100ms..1s", "fixed-window,rate=10/1s,charge=completion,linger=1ms",
		"fixed-window,rate=10/1s,align=first,refresh=all", "fixed-window,rate=10/1s,align=shared",
	} {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		few := answered(t, mustPolicy(t, "token-bucket,rate=10/s,burst=3"), evenly(9, 0, time.Millisecond))
		q := &inquiry{of: []evidence{{rec: history.RecordingOf(few)}}, declared: limit[0], left: hintWork,
			told: 3 * time.Second}
		guesses := 0
		for _, tier := range tiers {
			for _, family := range tier {
				for _, p := range family(q) {
					if _, err := reference.New(p); err != nil || p == limit[0] {
						continue
					}
					guesses++
					again, err := spec.Parse(spec.Limit{p}.String())
					if err != nil || again[0].String() != p.String() {
						t.Errorf("%s: %q is no SPEC: %v", text, p, err)
					}
					if q.named(p) == "" {
						t.Errorf("%s: %q has no name", text, p)
					}
				}
			}
		}
		if guesses < 2 {
			t.Errorf("%s: %d guesses, want one more and one less at least", text, guesses)
		}
	}
}

// answered records a limiter of p that gets a request of cost 1 at each instant. Each is on its way for a
// moment.
func answered(t *testing.T, p spec.Policy, at []time.Duration) *timeline.Timeline {
	t.Helper()
	lim, err := reference.New(p)
	if err != nil {
		t.Fatal(err)
	}
	tl, state := &timeline.Timeline{}, lim.Init()
	for i, at := range at {
		var d reference.Decision
		state, d = lim.Step(state, at, 1)
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at,
			FirstByte: at + time.Microsecond, Answered: true, Outcome: timeline.Denied}
		if d.Allow {
			o.Outcome = timeline.Allowed
		}
		tl.Observations = append(tl.Observations, o)
	}
	tl.Header.Ended = tl.End()
	return tl
}

// explainedBy tells whether the explanations name the SPEC with this text.
func explainedBy(j *result.Judgement, text, spec string) bool {
	return slices.ContainsFunc(j.Explanations, func(e result.Explanation) bool {
		return e.Text == text && e.Limit.String() == spec && e.Sure
	})
}

// TestHintOfRefreshedWindow: a client that keeps to its quota is denied all the same where each request
// starts the window anew. The hint says so.
func TestHintOfRefreshedWindow(t *testing.T) {
	var slow []time.Duration
	for i := range 40 {
		at := time.Duration(i) * 350 * time.Millisecond
		if i > 35 {
			at += 2 * time.Second
		}
		slow = append(slow, at)
	}
	slow = append(slow, evenly(20, 20*time.Second, 600*time.Millisecond)...)
	for _, c := range []struct {
		spec string
		at   []time.Duration
		want string
	}{
		{"fixed-window,rate=3/s,align=first,refresh=all", slow,
			"a fixed window of 3/s that every request restarts, denied or not"},
		{"fixed-window,rate=3/s,align=first,refresh=admitted", slow,
			"a fixed window of 3/s that every admitted request restarts"},
	} {
		tl := answered(t, mustPolicy(t, c.spec), c.at)
		p := mustPolicy(t, c.spec)
		for _, text := range []string{"fixed-window,rate=" + p.Rate.String() + ",align=first",
			"sliding-window-log,rate=" + p.Rate.String()} {
			j, err := Judge(tl, spec.Limit{mustPolicy(t, text)}, Options{Hint: true})
			if err != nil || j.Verdict != result.Fail || !explainedBy(j, c.want, c.spec) {
				t.Errorf("%s: got %v, hint %q, error %v, want fail, %s", text, j.Verdict, j.Hint, err, c.want)
			}
		}
	}
}

// TestHintsAreShort: the searches for a guess end early, even those over many phases at once.
func TestHintsAreShort(t *testing.T) {
	saysReplay(t)
	limit, err := spec.Parse("fixed-window,rate=60/1m,align=unknown")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 1))
	tl := &timeline.Timeline{}
	for i := range 48 {
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1 + r.Int64N(6)},
			Sent: time.Duration(2 * i), Answered: true, Outcome: timeline.Denied}
		if r.IntN(3) > 0 {
			o.Outcome = timeline.Allowed
		}
		o.FirstByte = o.Sent + time.Duration(r.Int64N(30))
		if r.IntN(3) == 0 {
			o.Answered, o.Outcome = false, timeline.Unknown
		}
		tl.Observations = append(tl.Observations, o)
	}
	c := NewCase(history.RecordingOf(tl), limit, Options{SkipMeasure: true})
	c.Quick = true
	box, _ := PhasesOf(limit[0], tl.Header)
	s := c.NewSearch(&Group{Parts: c.Parts[0].Histories})
	steps, wide := s.Steps, s.Wide
	s.Refute(box)
	if steps, wide = s.Steps-steps, s.Wide-wide; steps > HintSteps+search.VisitCap ||
		wide > 2*HintWide || wide < HintWide {
		t.Errorf("%d decisions of one phase were tried, and %d of many, want some %d and %d", steps, wide,
			HintSteps, HintWide)
	}
}

// TestHintsAreSure: a policy that explains all of a recording passes on it. One whose search was cut short
// may not.
func TestHintsAreSure(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	saysReplay(t)
	sure, rounds := 0, []uint64{736, 1997, 2471, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	for _, round := range rounds {
		r := rand.New(rand.NewPCG(1000, round))
		limit, err := spec.Parse(randomPolicy(r))
		if err != nil || contradictory(limit) {
			continue
		}
		lim, err := reference.NewLimit(chosen(r, limit))
		if err != nil {
			continue
		}
		tl := clockedTraffic(r, lim, limit)
		if len(tl.Observations) > 40 {
			tl.Observations = tl.Observations[:1+r.IntN(40)]
		}
		if r.IntN(4) == 0 {
			cutAmid(r, tl)
		}
		other, err := spec.Parse(randomPolicy(r))
		if err != nil || len(tl.Observations) == 0 {
			continue
		}
		if r.IntN(2) == 0 {
			other = spec.Limit{limit[0]}
			other[0].Rate.N++
		}
		j, err := Judge(tl, other, Options{SkipMeasure: r.IntN(2) == 0, Hint: true})
		if err != nil || j.Hint == "" {
			continue
		}
		for _, e := range j.Explanations {
			if !e.Sure {
				continue
			}
			sure++
			if k, err := Judge(tl, e.Limit, Options{SkipMeasure: true}); err != nil ||
				k.Verdict != result.Pass {
				t.Errorf("round %d: %s would explain all: %v, %v", round, e.Text, k.Verdict, err)
			}
		}
	}
	if sure == 0 {
		t.Error("nothing is sure: too few to tell")
	}
}

// TestHintOfRounding: a counter that compares what a request would leave is named by its rounding, not by a
// smaller quota.
func TestHintOfRounding(t *testing.T) {
	lim, err := reference.NewLimit(mustLimit(t, "sliding-window-counter,rate=7/100ms,phase=0s,rounding=up"))
	if err != nil {
		t.Fatal(err)
	}
	tl, state := &timeline.Timeline{}, lim.Init()
	for i := range 100 {
		at := time.Duration(i) * 7 * time.Millisecond
		var d reference.Decision
		state, d = lim.Step(state, at, 1)
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at,
			Answered: true, Outcome: timeline.Denied}
		if d.Allow {
			o.Outcome = timeline.Allowed
		}
		tl.Observations = append(tl.Observations, o)
	}
	for declared, hint := range map[string]string{"none": "a weighted count that is rounded up would",
		"nearest": "a weighted count that is rounded up would", "up": ""} {
		j, err := Judge(tl, mustLimit(t, "sliding-window-counter,rate=7/100ms,phase=0s,rounding="+declared),
			Options{Hint: true})
		if err != nil || !strings.HasPrefix(j.Hint, hint) || (j.Verdict == result.Fail) != (hint != "") {
			t.Errorf("declared %s: got %v, hint %q, error %v, want hint %q", declared, j.Verdict, j.Hint, err,
				hint)
		}
	}
}

// TestHintIsOfAnotherAlgorithm: a bucket that was declared as a window is named as a bucket, with its burst
// and rate. The window that it resembles is not named.
func TestHintIsOfAnotherAlgorithm(t *testing.T) {
	at := append(evenly(63, 0, 50*time.Microsecond), evenly(63, time.Second, 50*time.Microsecond)...)
	at = append(at, evenly(63, 3500*time.Millisecond, 50*time.Microsecond)...)
	tl := answered(t, mustPolicy(t, "leaky-bucket,rate=10/s,burst=21"), at)
	for declared, want := range map[string]string{
		"fixed-window,rate=21/2s,phase=0s":    "token-bucket,rate=21/2s,burst=21",
		"sliding-window-log,rate=21/2s":       "token-bucket,rate=21/2s,burst=21",
		"fixed-window,rate=21/1s,align=first": "sliding-window-counter,rate=21/s",
		"fixed-window,rate=10/10s":            "token-bucket,rate=10/s,burst=21",
	} {
		j, err := Judge(tl, mustLimit(t, declared), Options{Hint: true})
		bucket := func(e result.Explanation) bool { return e.Limit.String() == want && e.Sure }
		if err != nil || j.Verdict != result.Fail || !slices.ContainsFunc(j.Explanations, bucket) {
			t.Errorf("%s: got %v, hint %q, error %v, want %s", declared, j.Verdict, j.Hint, err, want)
		}
		for _, e := range j.Explanations {
			again, err := Judge(tl, e.Limit, Options{SkipMeasure: true})
			if err != nil || again.Verdict != result.Pass {
				t.Errorf("%s: %s is offered, and its verdict is %v, %v", declared, e.Limit, again.Verdict,
					err)
			}
		}
	}
}

// TestHintSaysThatNothingExplains: the hint says so where nothing fits, or where the work ended too early.
func TestHintSaysThatNothingExplains(t *testing.T) {
	tl := answered(t, mustPolicy(t, "token-bucket,rate=10/s,burst=3"), evenly(400, 0, 7*time.Millisecond))
	for i := range tl.Observations { // every third request is answered at random
		if i%3 == 0 {
			tl.Observations[i].Outcome = timeline.Outcome(1 + i*i/9%7/4)
		}
	}
	limit := mustLimit(t, "token-bucket,rate=10/s,burst=3")
	j, err := Judge(tl, limit, Options{Hint: true})
	none := strings.HasPrefix(j.Hint, "none of the ")
	if err != nil || j.Verdict != result.Fail || len(j.Explanations) > 0 || !none {
		t.Errorf("got %v, hint %q, error %v, want that nothing explains it", j.Verdict, j.Hint, err)
	}
	q := &inquiry{of: []evidence{{rec: history.RecordingOf(tl)}}, left: 100}
	if _, text := q.explain(limit); len(q.tried) > 0 || text != "" {
		t.Errorf("after %d tries: %q, want nothing after none", len(q.tried), text)
	}
	q.tried = make([]spec.Policy, 3)
	if !strings.Contains(q.sentence(), "the budget of work ended") {
		t.Errorf("after 3 tries: %s, want that the budget ended", q.sentence())
	}
	for _, spec := range []string{"fixed-window,rate=10/1s", "token-bucket,rate=10/s,burst=2",
		"sliding-window-log,rate=5/100ms"} {
		q.declared = mustPolicy(t, spec)
		for _, p := range clocks(q) {
			if 20*p.Tick > p.Rate.Per {
				t.Errorf("%s: a clock that ticks every %s explains anything", spec, p.Tick)
			}
		}
	}
}

// TestLargeRecordingsAreTriedToo: a policy that explains the beginning of a large recording is tried on all
// of it.
func TestLargeRecordingsAreTriedToo(t *testing.T) {
	tests := map[string]struct {
		served string
		held   int
		want   string // a part of the hint
	}{
		"the same limit explains all of it": {"token-bucket,rate=10/s,burst=4", 40,
			"a burst of 4 would explain"},
		"the beginning does not tell the rate": {"token-bucket,rate=20/s,burst=4", 5,
			"none of the"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tl := answered(t, mustPolicy(t, tt.served), evenly(60, 0, 20*time.Millisecond))
			s := newStream(mustLimit(t, "token-bucket,rate=10/s,burst=3"), tl.Header, Options{Hint: true},
				caps{held: tt.held, whole: wholeLimit})
			for i := range tl.Observations {
				if err := s.Observe(&tl.Observations[i]); err != nil {
					t.Fatal(err)
				}
			}
			j, err := s.Finish()
			if err != nil || j.Verdict != result.Fail || !strings.Contains(j.Hint, tt.want) {
				t.Errorf("got %v, hint %q, error %v, want %q", j.Verdict, j.Hint, err, tt.want)
			}
		})
	}
}
