package identify

import (
	"context"
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
)

// parsed is a limit.
func parsed(t *testing.T, text string) spec.Limit {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return limit
}

// never ends no search.
func never() bool { return false }

// bursts are admissions and then denials, a millisecond apart.
func bursts(admitted, denied int) []timeline.Observation {
	all := append(took(timeline.Allowed, make([]time.Duration, admitted)...),
		took(timeline.Denied, make([]time.Duration, denied)...)...)
	for i := range all {
		at := time.Duration(i) * ms
		all[i].At, all[i].Sent, all[i].FirstByte, all[i].Done = at, at, at, at
		all[i].Seq, all[i].Cost = i, 1
	}
	return all
}

// usualBudget is the default budget of the command.
func usualBudget() Options {
	return Options{Fresh: true,
		Budget: identity.Budget{MaxRequests: 400, Every: 20 * time.Millisecond, MaxTime: 5 * time.Minute}}
}

// among returns the candidate that is the truth; nil where none is.
func among(truth spec.Limit, res *identity.Result) *identity.Candidate {
	for i, c := range res.Found {
		if len(c.Limit) != len(truth) || truth[0].Ban > 0 != (c.Limit[0].Ban > 0) {
			continue
		}
		if c.Beside != nil {
			second := *c.Beside
			if second.Class[0] != truth[1].Algorithm || second.Limit[0].Full() != truth[1].Full() {
				continue
			}
		}
		first := c
		first.Limit = c.Limit[:1]
		if differs(truth[0], first) == "" {
			return &res.Found[i]
		}
	}
	return nil
}

// Two limits are found: the one that recovers within the budget, and the quota of the other. All candidates
// explain the recording.
func TestTwoLimitsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("ten seconds")
	}
	for _, text := range []string{
		"token-bucket,rate=2/s,burst=5 + sliding-window-log,rate=30/1m",
		"fixed-window,rate=5/s,align=first + fixed-window,rate=30/1m,align=first",
	} {
		if os.Getenv("RLCHECK_SOAK") == "" && strings.HasPrefix(text, "fixed") { // much like the other
			continue
		}
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			limit := parsed(t, text)
			res := Identify(t.Context(), simulate(t, limit, 8), usualBudget())
			t.Logf("%s after %d requests", res.Summary(), len(res.Timeline.Observations))
			fits(t, res)
			if among(limit, res) == nil {
				t.Errorf("got %s, want it among what is left", res.Summary())
			}
			for _, c := range res.Found {
				if !refute.Asker(nil).Explains(res.Timeline, c.Limit) {
					t.Errorf("%s is told, and its own recording refutes it", c.Limit)
				}
			}
		})
	}
}

// A ban is found, and a log with a short ban is not a log with a longer window.
func TestBansAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("twenty seconds")
	}
	for i, text := range []string{"sliding-window-log,rate=4/1s,ban=500ms",
		"sliding-window-log,rate=10/1s,ban=500ms", "token-bucket,rate=5/s,burst=5,ban=3s"} {
		if os.Getenv("RLCHECK_SOAK") == "" && i > 0 { // they take long
			continue
		}
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			limit := parsed(t, text)
			res := Identify(t.Context(), simulate(t, limit, 7), usualBudget())
			t.Logf("%s after %d requests", res.Summary(), len(res.Timeline.Observations))
			if among(limit, res) == nil {
				t.Errorf("got %s, want it among what is left", res.Summary())
			}
		})
	}
}

// policied is a target whose answers state several limits.
type policied struct {
	*simulated
	told string
}

func (s policied) Send(ctx context.Context, p plan.Phase) ([]timeline.Observation, error) {
	all, err := s.simulated.Send(ctx, p)
	for i := range all {
		all[i].Fields = timeline.Fields{{Name: "Ratelimit-Policy", Value: s.told}}
	}
	return all, err
}

// A limit that is stated beside the found one is reached where the budget allows, and found. Otherwise the
// answer states it, with what it takes to reach it. If it does not exist, it is not believed.
func TestALimitThatIsToldBesideIsReached(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of planning")
	}
	const bucket = "token-bucket,rate=5/s,burst=6"
	for _, tt := range []struct{ truth, told, also string }{
		{bucket + " + fixed-window,rate=150/1h,align=first", "6;w=1, 150;w=3600", ""},
		{bucket + " + fixed-window,rate=5000/1h,align=first", "6;w=1, 5000;w=3600",
			"5000 in 1h0m0s, not reached"},
		{bucket, "6;w=1, 150;w=3600", "150 in 1h0m0s, and more were admitted"},
	} {
		t.Run(tt.truth+" told "+tt.told, func(t *testing.T) {
			t.Parallel()
			limit := parsed(t, tt.truth)
			res := Identify(t.Context(), policied{simulate(t, limit, 3), tt.told}, usualBudget())
			t.Log(res.Text(identity.About{Budget: usualBudget().Budget}))
			if tt.also != "" {
				also := strings.Join(res.Also, "; ")
				if res.Verdict != identity.Identified || !strings.Contains(also, tt.also) {
					t.Errorf("got %s, also %q, want %q", res.Summary(), res.Also, tt.also)
				}
				return
			}
			c := among(limit, res)
			if c == nil || c.Beside.Limit[0].Rate.Per != time.Hour || !c.Beside.Stated {
				t.Errorf("got %s, want the quota of 150 with its hour, which is told", res.Summary())
			}
		})
	}
}

// volleys is a search after bursts of so many requests, each after a rest.
func volleys(t *testing.T, text string, seed uint64, requests int, rests ...time.Duration) *search {
	t.Helper()
	x := &search{o: usualBudget(), s: simulate(t, parsed(t, text), seed), tl: &timeline.Timeline{}}
	for _, rest := range rests {
		x.send(t.Context(), plan.Phase{Rest: rest, Requests: requests, Every: 20 * time.Millisecond,
			Denials: 2})
	}
	return x
}

// TestTheSecondOfTwoLimitsIsDivided: the round policies of two limits do not explain a recording of odd ones
// together. Beside some policy of the first limit, a part of the second does.
func TestTheSecondOfTwoLimitsIsDivided(t *testing.T) {
	const s = time.Second
	truth := "token-bucket,rate=5/1130ms,burst=5 + fixed-window,rate=17/18730ms,align=first"
	x := volleys(t, truth, 1, 8, 0, s, 2*s, s/2, s/3, s, 3*s, 14*s, 2*s, s/2, 18*s, s/4, s/2, 3*s, 31*s, s, s,
		s)
	for _, asked := range []int{40, 100} {
		a := &space.Region{Kind: space.Kinds()[0], Live: []space.Box{{Q1: 5, Q2: 5, T1: s / 10, T2: s / 2}}}
		r := &space.Region{Kind: space.Kinds()[2], Beside: a,
			Live: []space.Box{{Q1: 6, Q2: 60, T1: 2 * s, T2: 100 * s}}}
		a.Beside, r.Over = r, func() bool { return false }
		r.Narrowed(x.shown(), asked)
		round := x.candidateOfOne(a)
		round.Limit = append(round.Limit, x.candidateOfOne(r).Limit...)
		got := x.both(a, r)
		if !x.fails(round) || x.fails(got) || got.Beside == nil {
			t.Errorf("asked %d: got %s, want what explains all; %s does: %v", asked, got.Limit, round.Limit,
				!x.fails(round))
		}
	}
}

// TestWhatASecondLimitRefutedIsOneOfTwo: of 5/s with 20 a minute beside it, a bucket was left until the
// second limit denied. A wrong counter was refuted later. Two limits were looked for with the counter alone,
// and the answer was "none of these".
func TestWhatASecondLimitRefutedIsOneOfTwo(t *testing.T) {
	x := begun(simulate(t, parsed(t, "token-bucket,rate=5/s,burst=5"), 1), usualBudget(), never)
	live := func(k *space.Kind) *space.Region {
		return &space.Region{Kind: k, Live: []space.Box{{Q1: 5, Q2: 5, T1: time.Second, T2: time.Second}}}
	}
	bucket, log, counter := live(space.Kinds()[0]), live(space.Kinds()[3]), live(space.Kinds()[4])
	for _, left := range [][]*space.Region{{bucket, log, counter}, {bucket, counter}, {counter}, {counter},
		nil} {
		x.regions = left
		x.recall()
	}
	firsts := map[string]bool{}
	for _, r := range x.pairs() {
		firsts[r.Beside.Kind.Text] = true
	}
	if !firsts[bucket.Text()] || firsts[counter.Text()] { // a counter of all roundings is none to begin with
		t.Errorf("got pairs with %v first, want the bucket", firsts)
	}
	if got := x.trail[0].Text(); got != counter.Text() || len(x.trail) != 2 {
		t.Errorf("got %d kinds, first %s, want what was left last, and then the bucket", len(x.trail), got)
	}
	x.regions = []*space.Region{log}
	if x.recall(); len(x.trail) != 1 {
		t.Errorf("got %d kinds, want the log alone, which may be the first of two", len(x.trail))
	}
}

// TestALimitThatForgetsIsTold: with the silence after which the whole quota is there again. A limit that is
// explained otherwise, or that denies after each silence, is not.
func TestALimitThatForgetsIsTold(t *testing.T) {
	const s = time.Second
	for text, want := range map[string]string{
		"token-bucket,rate=10/1m,burst=10,ttl=5s":                "token-bucket,rate=10/1m,burst=10,ttl=5s",
		"sliding-window-log,rate=10/1m":                          "",
		"token-bucket,rate=2/s,burst=5 + fixed-window,rate=9/1m": "",
	} {
		x := volleys(t, text, 1, 15, 0, s, 2*s, 4*s, 51*s/10, 7*s, s, 3*s, 5*s, 45*s/10)
		res := &identity.Result{Verdict: identity.None}
		for x.stage = range 2 {
			res.Found = nil
			if x.stage == 0 {
				res.Found = []identity.Candidate{{}}
			}
			if x.mayForget(res); x.stage == 0 && (res.Verdict == identity.Open || len(res.Found) > 1) {
				t.Errorf("%s: got %s, though a usual limit explains it", text, res.Summary())
			}
		}
		got := res.Summary()
		if told := strings.Contains(got, "ttl="); told != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %s, %s", text, got, res.Stopped)
		}
		if want != "" && !strings.Contains(res.Stopped, "silent for 4.5") {
			t.Errorf("%s: got %q, want the silence", text, res.Stopped)
		}
	}
}

// TestWhatIsUnlikelyIsKeptBesideWhatIsRare: 40 in 2 s was "none of these". Each policy of it that was tried
// was refuted, so a clock of whole seconds was looked for. Instead of that clock, two usual kinds came back
// that had been given up, and the next requests refuted them (seed 244).
func TestWhatIsUnlikelyIsKeptBesideWhatIsRare(t *testing.T) {
	usual := &space.Region{Kind: space.Kinds()[1],
		Doubtful: []space.Box{{Q1: 1, Q2: 9, T1: ms, T2: time.Minute}}}
	seconds := *space.Kinds()[1]
	seconds.Seconds = true
	rare := &space.Region{Kind: &seconds, Doubtful: usual.Doubtful}
	for stage, want := range []*space.Region{usual, rare} {
		x := &search{stage: stage, gone: []*space.Region{{Again: usual}, {Again: rare}, {}}}
		if !x.revive() || len(x.regions) != 1 || x.regions[0] != want || len(x.gone) != 2 {
			t.Errorf("stage %d: got %d kinds back, want the one of it", stage, len(x.regions))
		}
	}
	x := &search{regions: []*space.Region{usual}}
	found := func(context.Context) bool { x.regions, x.stage = []*space.Region{rare}, 1; return true }
	if !x.insteadOfUnlikely(t.Context(), found) {
		t.Fatal("what is rare was not looked for")
	}
	if x.unshelve() || x.regions[0] != rare {
		t.Error("got what is unlikely in place of what is left")
	}
	if x.regions = nil; !x.unshelve() || x.regions[0] != usual || x.stage != 0 {
		t.Error("want what was unlikely, where nothing rare is left")
	}
	if x.insteadOfUnlikely(t.Context(), func(context.Context) bool { return true }) || x.unshelve() {
		t.Error("got the rare looked for again")
	}
}

// TestWhatIsRareAndNotCheckedGivesWay: when the time was over, the answer had pairs of limits that nobody had
// checked. The counter in whose place they had been looked for was missing.
func TestWhatIsRareAndNotCheckedGivesWay(t *testing.T) {
	for _, late := range []bool{false, true} {
		x := volleys(t, "sliding-window-log,rate=5/2s", 1, 8, 0, 5*time.Second)
		rare := known(parsed(t, "sliding-window-log,rate=5/2s")[0])
		usual := &space.Region{Kind: space.Kinds()[4]}
		x.regions, x.shelf, x.stage = []*space.Region{rare}, []*space.Region{usual}, 2
		x.late = func() bool { return late }
		if x.rarelyExplained(); (x.regions[0] == usual) != late {
			t.Errorf("late %v: got %q left", late, x.kindNames())
		}
	}
}

// rested is two bursts, a minute apart.
func rested(first, second []timeline.Observation) []timeline.Observation {
	for i := range second {
		o := &second[i]
		o.At, o.Sent = o.At+time.Minute, o.Sent+time.Minute
		o.FirstByte, o.Done = o.FirstByte+time.Minute, o.Done+time.Minute
	}
	return append(first, second...)
}

// TestWhatIsRareIsLookedForBeforeNoneIsSaid: much was left of usual kinds, all of it doubtful. The judge
// refuted the last of it while the next experiment was chosen, and the answer was "none of these".
func TestWhatIsRareIsLookedForBeforeNoneIsSaid(t *testing.T) {
	x := begun(simulate(t, parsed(t, "token-bucket,rate=1/s,burst=1"), 1), usualBudget(), never)
	x.tl.Observations = rested(bursts(6, 1), bursts(5, 1)) // neither a log of 5 nor one of 6
	left := &space.Region{Kind: space.Kinds()[3]}
	for i := range time.Duration(1200) { // each is refuted once it is divided
		at := time.Second + i
		left.Doubtful = append(left.Doubtful, space.Box{Q1: 5, Q2: 6, T1: at, T2: at})
	}
	x.regions, x.every, x.o.MaxTime = []*space.Region{left}, x.o.Every, 0 // no experiment fits
	if x.explore(t.Context()); x.stage == 0 || !slices.ContainsFunc(x.regions, (*space.Region).Rare) {
		t.Errorf("got stage %d with %q left, want a clock of whole seconds", x.stage, x.kindNames())
	}
}

// TestNoneIsSaidOnlyWhereAllWasLookedFor: rare kinds too, and the judge had its time for them.
func TestNoneIsSaidOnlyWhereAllWasLookedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		widen       bool
		think, tick time.Duration // tick passes whenever the judge looks at the clock
		ended       bool
		want        identity.Verdict
	}{
		"nothing rare is looked for":   {false, time.Minute, 1, false, identity.Open},
		"all of it is":                 {true, time.Minute, 1, false, identity.None},
		"the judge is stopped":         {true, 5, 1, false, identity.Open},
		"the time ends":                {true, time.Minute, time.Minute, false, identity.Open},
		"it is interrupted before all": {true, time.Minute, 1, true, identity.Open},
	} {
		o, now := usualBudget(), time.Duration(0)
		o.Think = tt.think
		x := begun(simulate(t, parsed(t, "token-bucket,rate=1/s,burst=1"), 1), o,
			func() bool { return tt.ended })
		x.tl.Observations, x.regions = rested(bursts(0, 1), bursts(1, 0)), nil // the first request is denied
		x.clock = func() time.Duration { now += tt.tick; return now }
		for tt.widen && x.widen(t.Context()) {
			x.clock = x.s.Now
			x.exclude()
		}
		res := x.result()
		open := res.Verdict == identity.Open
		if res.Verdict != tt.want || open != strings.Contains(res.Stopped, unsought) {
			t.Errorf("%s: got %s: %s", name, res.Summary(), res.Stopped)
		}
	}
}
