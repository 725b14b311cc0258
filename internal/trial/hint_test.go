package trial

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// made is a scenario that declares one limit, and that another one decided: n requests, each so long after
// the one before, and as many again after a rest.
func made(t *testing.T, id, declared, truth string, n int, every, rest time.Duration) result.Scenario {
	t.Helper()
	return madeBy(t, id, declared, truth, n, every, rest, rightly)
}

// rightly is what a clock reads that is right.
func rightly(at time.Duration) time.Duration { return at }

// madeBy is made by a limiter with that clock.
func madeBy(t *testing.T, id, declared, truth string, n int, every, rest time.Duration,
	clock func(time.Duration) time.Duration) result.Scenario {
	t.Helper()
	l, err := spec.Parse(truth)
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := reference.NewLimit(l)
	if err != nil {
		t.Fatal(err)
	}
	tl := &timeline.Timeline{Header: timeline.Header{Judged: timeline.Terms{
		Limits: []timeline.PhaseLimit{{Limit: declared}}}}}
	state, at := limiter.Init(), time.Duration(0)
	for i := range 2 * n {
		if at += every + time.Duration(i%3)*every/8; i == n { // as many each millisecond fit a finer limit
			at += rest
		}
		o := timeline.Observation{Sent: at, FirstByte: at + time.Microsecond, Answered: true, Status: 200,
			Outcome: timeline.Allowed}
		o.Seq, o.Partition, o.Cost = i, id, 1
		var d reference.Decision
		if state, d = limiter.Step(state, clock(at), 1); !d.Allow {
			o.Status, o.Outcome = 429, timeline.Denied
		}
		tl.Observations = append(tl.Observations, o)
	}
	if l, err = spec.Parse(declared); err != nil {
		t.Fatal(err)
	}
	j, err := check.Judge(tl, l, check.Options{Hint: true})
	if err != nil {
		t.Fatal(err)
	}
	return result.Scenario{ID: id, Limit: l, Target: "http://here/", Timeline: tl, Judgement: j,
		Verdict: j.Verdict}
}

// What is offered for a run explains all of its recordings, and there is one hint for all of them.
func TestOneHintForARun(t *testing.T) {
	const declared, larger = "token-bucket,rate=10/s,burst=20", "token-bucket,rate=10/s,burst=21"
	const ms = time.Millisecond
	for name, x := range map[string]struct {
		second string
		want   string
	}{
		"both are of one limiter": {larger,
			"a burst of 21 would explain all 2 recordings (" + larger + ")"},
		"the second keeps the declared": {declared, "all 2 recordings"},
		"the second is of a third": {"token-bucket,rate=10/s,burst=22",
			"tried explains all 2 recordings"},
		"the second has a window instead": {"fixed-window,rate=21/2s,align=first", "all 2 recordings"},
	} {
		t.Run(name, func(t *testing.T) {
			all := []result.Scenario{made(t, "a", declared, larger, 40, ms, 500*ms),
				made(t, "b", declared, x.second, 60, 2*ms, 900*ms)}
			h, out := Explain(all)
			if h == nil || !strings.Contains(h.Text, x.want) || strings.Join(h.From, " ") != "a b" {
				t.Fatalf("got %+v, want %s", h, x.want)
			}
			for _, l := range h.Limits {
				for i := range all {
					j, err := check.Judge(all[i].Timeline, l, check.Options{SkipMeasure: true})
					if err != nil || j.Verdict == result.Fail {
						t.Errorf("%s is offered, and %s refutes it: %v", l, all[i].ID, err)
					}
				}
			}
			if alone := out[0].Judgement.Hint != ""; alone == (len(h.Limits) > 0) {
				t.Errorf("the first has a hint of its own: %t; that of the run is %q", alone, h.Text)
			}
			if all[0].Judgement.Hint == "" {
				t.Error("what was recorded was changed")
			}
		})
	}
	right := []result.Scenario{made(t, "a", declared, declared, 40, ms, 500*ms),
		made(t, "b", declared, declared, 40, ms, 500*ms)}
	if h, _ := Explain(right); h != nil {
		t.Errorf("nothing fails: got %+v", h)
	}
	one := []result.Scenario{made(t, "a", declared, larger, 40, ms, ms)}
	if h, _ := Explain(one); h != nil {
		t.Errorf("one recording has a hint of its own: got %+v", h)
	}
}

// TestAWrongUnitIsNamed: nginx with 10r/s, of which 10r/m was declared, was a window of 21 in 2m7.27s.
func TestAWrongUnitIsNamed(t *testing.T) {
	const declared, truth = "leaky-bucket,rate=10/1m,burst=21", "leaky-bucket,rate=10/s,burst=21"
	var all []result.Scenario
	for i, rest := range []time.Duration{300 * time.Millisecond, time.Second} {
		all = append(all, made(t, fmt.Sprint(i), declared, truth, 40, time.Millisecond, rest))
	}
	h, _ := Explain(all)
	if h == nil || len(h.Limits) == 0 || h.Limits[0].String() != truth ||
		!strings.Contains(h.Text, "per second") {
		t.Errorf("got %+v, want %s first", h, truth)
	}
}

// TestWhatMeetsNoLimitIsNotExplained: requests that the limiter does not count say nothing about it.
func TestWhatMeetsNoLimitIsNotExplained(t *testing.T) {
	const declared, larger = "token-bucket,rate=10/s,burst=20", "token-bucket,rate=10/s,burst=21"
	free := made(t, "free", declared, "token-bucket,rate=10/s,burst=5000", 40, time.Millisecond, time.Second)
	right := made(t, "right", declared, declared, 40, time.Millisecond, time.Second)
	if h, _ := Explain([]result.Scenario{free, right}); h != nil {
		t.Errorf("got %+v, want nothing", h)
	}
	more := []result.Scenario{free, made(t, "a", declared, larger, 40, time.Millisecond, time.Second),
		made(t, "b", declared, larger, 40, time.Millisecond, time.Second)}
	if h, _ := Explain(more); h == nil || strings.Join(h.From, " ") != "a b" {
		t.Errorf("got %+v, want a hint from a and b", h)
	}
}

// A ban that denials tell of is offered where it explains what no other limit does.
func TestABanIsOffered(t *testing.T) {
	for declared, banned := range map[string]string{
		"fixed-window,rate=20/2s":       "fixed-window,rate=20/2s,align=first,ban=3s",
		"sliding-window-log,rate=20/2s": "token-bucket,rate=20/2s,burst=20,ban=3s",
	} {
		const ms = time.Millisecond
		all := []result.Scenario{made(t, "a", declared, banned, 40, 20*ms, 2500*ms),
			made(t, "b", declared, banned, 60, 150*ms, 900*ms)}
		for i := range all {
			for k := range all[i].Timeline.Observations {
				if o := &all[i].Timeline.Observations[k]; o.Outcome == timeline.Denied {
					o.Fields = timeline.Fields{{Name: "Retry-After", Value: "3"}}
				}
			}
		}
		h, _ := Explain(all)
		is := func(l spec.Limit) bool { return l.String() == banned }
		if h == nil || !slices.ContainsFunc(h.Limits, is) {
			t.Errorf("%s: got %+v, want %s", declared, h, banned)
		}
	}
}

// A clock of whole seconds, as some products have one, is offered where it explains all. A window of 1.8 s is
// explained by none, wherever its seconds begin, although each request alone may be a second older.
func TestAClockOfWholeSecondsIsOffered(t *testing.T) {
	const ms = time.Millisecond
	const log, bucket = "sliding-window-log,rate=5/2s", "token-bucket,rate=5/2s,burst=5"
	seconds := func(at time.Duration) time.Duration { return (at + 370*ms).Truncate(time.Second) }
	for _, x := range []struct {
		declared, truth string
		clock           func(time.Duration) time.Duration
		want            bool
	}{
		{log, "fixed-window,rate=5/2s,align=first,refresh=admitted", seconds, true},
		{log, "sliding-window-counter,rate=5/2s,align=first,count=all,rounding=up", seconds, true},
		{bucket, "fixed-window,rate=5/1800ms,align=first", rightly, false},
	} {
		all := []result.Scenario{madeBy(t, "a", x.declared, x.truth, 20, 130*ms, 2500*ms, x.clock),
			madeBy(t, "b", x.declared, x.truth, 30, 310*ms, 900*ms, x.clock)}
		h, _ := Explain(all)
		if h == nil {
			t.Fatalf("%s: nothing fails", x.truth)
		}
		offered := slices.ContainsFunc(h.Limits, func(l spec.Limit) bool {
			return l[0].Tick == time.Second && (!x.want || strings.HasPrefix(l.String(), x.truth))
		})
		if offered != x.want {
			t.Errorf("%s: got %v, want a clock of whole seconds: %v", x.truth, h.Limits, x.want)
		}
	}
}

// State that is forgotten early is offered, and units that come back several at a time.
func TestRareBucketsAreOffered(t *testing.T) {
	const declared = "token-bucket,rate=10/s,burst=20"
	const ms = time.Millisecond
	const batch = ",refill=interval,fill=4"
	for truth, want := range map[string]string{declared + ",ttl=770ms": declared + ",ttl=900ms",
		declared + batch:                      declared + batch,
		declared + ",refill=interval,fill=10": declared + ",refill=interval,fill=10"} {
		all := []result.Scenario{made(t, "a", declared, truth, 40, ms, 900*ms),
			made(t, "b", declared, truth, 60, 20*ms, 500*ms)}
		h, _ := Explain(all)
		is := func(l spec.Limit) bool { return l.String() == want }
		if h == nil || !slices.ContainsFunc(h.Limits, is) {
			t.Errorf("%s: got %+v, want %s", truth, h, want)
		}
	}
}

// Where nothing fails, a queue is offered whose answers wait as those of the recordings do. It is offered for
// a bucket whose recordings measure too little, and for a window or a log. It is not offered where all
// answers are slow, nor for a bucket that was measured.
func TestAQueueThatIsDeclaredAsAnotherLimit(t *testing.T) {
	const bucket, queue = "token-bucket,rate=10/s,burst=5", "leaky-bucket-queue,rate=10/s,queue=4"
	waits := func(id, declared string, wait func(place int) time.Duration, deny time.Duration,
		unresolved bool) result.Scenario {
		s := made(t, id, declared, bucket, 8, time.Microsecond, 2*time.Second)
		place := 0
		for i := range s.Timeline.Observations {
			o := &s.Timeline.Observations[i]
			if i == 8 {
				place = 0
			}
			if o.Outcome == timeline.Allowed {
				o.FirstByte, place = o.Sent+wait(place), place+1
			} else {
				o.FirstByte += deny
			}
		}
		exactly := check.Resolution{BurstExact: true}
		j, err := check.Judge(s.Timeline, s.Limit, check.Options{Resolution: exactly})
		if err != nil {
			t.Fatal(err)
		}
		s.Judgement, s.Verdict, s.Reason = j, j.Verdict, j.Reason
		j.Unresolved = unresolved
		return s
	}
	asQueue := func(place int) time.Duration { return time.Duration(place) * 100 * time.Millisecond }
	slow := func(int) time.Duration { return 300 * time.Millisecond }
	const window, log = "fixed-window,rate=5/500ms,align=first", "sliding-window-log,rate=5/500ms"
	for name, x := range map[string]struct {
		declared   string
		wait       func(int) time.Duration
		deny       time.Duration
		unresolved bool
		want       string
	}{
		"waits as in a queue":       {bucket, asQueue, 0, true, queue},
		"slow alike":                {bucket, slow, 0, true, ""},
		"slow to deny, too":         {bucket, asQueue, 300 * time.Millisecond, true, ""},
		"measured all the same":     {bucket, asQueue, 0, false, ""},
		"a window that waits":       {window, asQueue, 0, false, "leaky-bucket-queue,rate=5/500ms,queue=4"},
		"a log that waits":          {log, asQueue, 0, false, "leaky-bucket-queue,rate=5/500ms,queue=4"},
		"a window, slow alike":      {window, slow, 0, false, ""},
		"a window, slow to deny":    {window, asQueue, 300 * time.Millisecond, false, ""},
		"a window that never waits": {window, func(int) time.Duration { return 0 }, 0, false, ""},
	} {
		h, _ := Explain([]result.Scenario{waits("a", x.declared, x.wait, x.deny, x.unresolved),
			waits("b", x.declared, x.wait, x.deny, x.unresolved)})
		got := ""
		if h != nil {
			got = h.Limits[0].String()
		}
		if got != x.want {
			t.Errorf("%s: got %q, want %q", name, got, x.want)
		}
	}
}

// The declared quota is offered as each algorithm reads it, also where identify has no time.
func TestTheDeclaredQuotaIsReadOtherwise(t *testing.T) {
	const declared, ms = "token-bucket,rate=5/2s,burst=5", time.Millisecond
	for _, truth := range []string{"sliding-window-counter,rate=5/2s,align=first,count=all,rounding=nearest",
		"sliding-window-counter,rate=5/2s,align=first,rounding=up", "sliding-window-counter,rate=5/2s"} {
		all := []result.Scenario{made(t, "a", declared, truth, 20, 130*ms, 2500*ms),
			made(t, "b", declared, truth, 20, 310*ms, 900*ms)}
		for i := range all {
			all[i].Timeline.Header.Started = time.Unix(0, 0)
		}
		h, _ := Explain(all)
		is := func(l spec.Limit) bool { return l.String() == truth }
		if h == nil || !slices.ContainsFunc(h.Limits, is) {
			t.Errorf("%s: got %+v", truth, h)
		}
	}
}
