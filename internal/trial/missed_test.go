package trial

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestALowerRateThanPlannedIsNoPass: what was sent at half of its rate says nothing of the whole. A FAIL
// needs no rate, and a single stall is none.
func TestALowerRateThanPlannedIsNoPass(t *testing.T) {
	s := named(t, "sustained")
	for fault, want := range map[string]result.Verdict{"": result.Inconclusive,
		"never-recovers": result.Fail} {
		sent := against(t, s, fault)
		out := sent
		for i := range out.Timeline.Observations { // as if the generator had needed twice the time
			o := &out.Timeline.Observations[i]
			if o.Phase == "below" {
				o.At = o.Sent / 3
			}
		}
		Judge(&out, s, out.Timeline)
		if out.Verdict != want || want == result.Inconclusive &&
			(out.Reason != result.ScheduleMissed || !strings.Contains(out.Detail, "below was sent in")) {
			t.Errorf("fault %q: got %s %s %s, want %s", fault, out.Verdict, out.Reason, out.Detail, want)
		}
	}
	out := against(t, s, "")
	out.Timeline.Observations[20].At -= 100 * time.Millisecond
	if Judge(&out, s, out.Timeline); out.Verdict != result.Pass {
		t.Errorf("late by 100 ms: got %s, want pass", out.Verdict)
	}
}

// TestABoundaryThatWasMissedIsNoPass: what was sent after it, or may have been decided after it, says
// nothing of the end of a window. A FAIL needs no boundary, and a quarter of the requests may miss it.
func TestABoundaryThatWasMissedIsNoPass(t *testing.T) {
	const sent, answered = "were sent after it", "were answered after it"
	for _, x := range []struct {
		fault, what string
		n           int
		want        result.Verdict
		reason      result.Reason
	}{
		{"", sent, 14, result.Inconclusive, result.ScheduleMissed},
		{"", answered, 40, result.Inconclusive, result.TooFew},
		{"", sent, 13, result.Pass, ""},
		{"", answered, 39, result.Pass, ""},
		{"reset-of-next-window", sent, 14, result.Fail, ""},
	} {
		s := named(t, "window-edge")
		out := against(t, s, x.fault)
		all := out.Timeline.Observations // 40 are due 25 ms before it, and 40 as long after it
		for i := range x.n {
			if x.what == sent {
				all[40+i].At -= 50 * time.Millisecond
			} else {
				all[39-i].FirstByte += 26 * time.Millisecond
			}
		}
		Judge(&out, s, out.Timeline)
		told := x.want != result.Inconclusive || strings.Contains(out.Detail, x.what)
		if out.Verdict != x.want || out.Reason != x.reason || !told {
			t.Errorf("fault %q, %d %s: got %s %s %s, want %s %s", x.fault, x.n, x.what, out.Verdict,
				out.Reason, out.Detail, x.want, x.reason)
		}
	}
}

// behind is a pacer that is late by so much, each time.
type behind struct {
	transport.Pacer
	late time.Duration
}

func (b behind) Wait(ctx context.Context, clk transport.Clock, due time.Duration, wake <-chan struct{}) bool {
	return b.Pacer.Wait(ctx, clk, due+b.late, wake)
}

// TestABoundaryThatWasMissedIsTriedWithAWiderLead: the next try is in time where the window leaves room for
// that, and finds what it is there to find.
func TestABoundaryThatWasMissedIsTriedWithAWiderLead(t *testing.T) {
	const ms = time.Millisecond
	for _, x := range []struct {
		late, delay, lead time.Duration
		fault             string
		want              result.Verdict
	}{
		{40 * ms, 0, 80 * ms, "", result.Pass},
		{40 * ms, 0, 80 * ms, "reset-of-next-window", result.Fail},
		{0, 35 * ms, 70 * ms, "", result.Pass},           // a target that is far away
		{90 * ms, 0, 100 * ms, "", result.Pass},          // four times as wide
		{110 * ms, 0, 100 * ms, "", result.Inconclusive}, // there is no wider one
		{0, 90 * ms, 180 * ms, "", result.Pass},          // beside the way there and back
	} {
		s := named(t, "window-edge")
		s.Target.Fault = x.fault
		record := func(s *scenario.Scenario) (out result.Scenario) {
			synctest.Test(t, func(*testing.T) {
				out = Scenario(context.Background(), s, Options{ID: "m", Seed: 1,
					Embed: embedded, Network: slow{new(lab.PipeNetwork), x.delay},
					Pacer: behind{transport.SleepingPacer(), x.late}})
				time.Sleep(time.Minute)
			})
			return out
		}
		first := record(s)
		if x.fault == "" && first.Verdict != result.Inconclusive {
			t.Errorf("late %v, far %v: got %s at first: %s", x.late, x.delay, first.Verdict, explain(first))
		}
		again, what := Mended(s, first.Timeline)
		if got := again.Phases[0].Lead.Round(ms); got != x.lead ||
			!strings.Contains(what, "instead of 25.0 ms on each side") {
			t.Errorf("late %v, far %v: got a lead of %v (%s), want %v", x.late, x.delay, got, what, x.lead)
		}
		if s.Phases[0].Lead != 25*ms {
			t.Errorf("the scenario itself has a lead of %v", s.Phases[0].Lead)
		}
		second := record(again)
		if second.Verdict != x.want {
			t.Errorf("late %v, far %v, %q: got %s, want %s: %s", x.late, x.delay, x.fault, second.Verdict,
				x.want, explain(second))
		}
		third, _ := Mended(s, second.Timeline)
		if got := third.Phases[0].Lead.Round(ms); got != x.lead {
			t.Errorf("late %v, far %v: the third lead is %v, want %v", x.late, x.delay, got, x.lead)
		}
	}
}

// TestALateFirstAnswerIsTriedWithALaterBoundary: a bucket has no windows, so its boundary may be later.
func TestALateFirstAnswerIsTriedWithALaterBoundary(t *testing.T) {
	const ms = time.Millisecond
	s := named(t, "boundary-double-burst")
	out := against(t, s, "")
	kept := out.Timeline.Observations[:0]
	for _, o := range out.Timeline.Observations {
		if o.Phase == timeline.AimPhase("first-edge") {
			o.FirstByte = o.At + 150*ms
		}
		if o.Phase != "first-edge" { // no time was left for it
			kept = append(kept, o)
		}
	}
	out.Timeline.Observations = kept
	again, what := Mended(s, out.Timeline)
	if got := again.Phases[1].Window; got != 600*ms || s.Phases[1].Window != 200*ms ||
		what != "600 ms instead of 200 ms from the first request to the boundary of phase first-edge" {
		t.Errorf("got a window of %v instead of %v: %q", got, s.Phases[1].Window, what)
	}
	if out := virtually(t, again); out.Verdict != result.Pass {
		t.Errorf("got %s, want pass: %s", out.Verdict, explain(out))
	}
	for i := range kept { // it was not even asked
		kept[i].Answered = false
	}
	if again, what := Mended(s, out.Timeline); again != s {
		t.Errorf("without an answer: %q", what)
	}
	if again, what := Mended(s, nil); again != s || what != "" {
		t.Errorf("without a recording: %q", what)
	}
	for i := range kept {
		kept[i].Answered = true
	}
	first, err := s.Phases[1], error(nil)
	if first.Limit, err = spec.Parse("fixed-window,rate=20/200ms,align=first"); err != nil {
		t.Fatal(err)
	}
	if got := windowsFor(&first, out.Timeline); got != 1 {
		t.Errorf("a window of the limit is %d times as long", got)
	}
}

// slow is a network on which each answer takes a while.
type slow struct {
	Network
	delay time.Duration
}

func (s slow) Listen(h http.Handler) (string, func() error, error) {
	return s.Network.Listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		time.Sleep(s.delay)
	}))
}

// TestTheWidestLeadFindsTheSame: with the lead that is the widest, right limiters pass and what a scenario
// claims to catch is caught.
func TestTheWidestLeadFindsTheSame(t *testing.T) {
	for _, limit := range append([]string{""}, limits...) {
		for _, s := range bundled(t, scenario.ParseOptions{Limit: limit}, "boundary-double-burst",
			"window-edge") {
			if s.Unmet() != "" {
				continue // it is about another kind of limit
			}
			for i := range s.Phases {
				s.Phases[i].Lead = (&sides{}).widest(&s.Phases[i])
			}
			blurred := func(out result.Scenario) bool {
				return out.Reason == result.TooFew && strings.Contains(out.Detail, "tell the target from")
			}
			switch out := virtually(t, s); {
			case out.Verdict == result.Pass:
			case !blurred(out):
				t.Errorf("%s with %q: got %s, want pass: %s", s.ID, limit, out.Verdict, explain(out))
			case !blurred(against(t, s, "fixed-window-as-sliding")):
				t.Errorf("%s with %q: a fault is said not to show that does", s.ID, limit)
			}
			for _, fault := range s.Catches {
				if limit != "" {
					break
				}
				if out := against(t, s, fault); out.Verdict != result.Fail {
					t.Errorf("%s, fault %s: got %s, want fail: %s", s.ID, fault, out.Verdict, explain(out))
				}
			}
		}
	}
}

// named returns a bundled scenario.
func named(t *testing.T, id string) *scenario.Scenario {
	t.Helper()
	for _, s := range bundled(t, scenario.ParseOptions{}, id) {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("no bundled scenario is called %q", id)
	return nil
}

// TestTwoQuotasInOneBurstAreNoPass: a window that began in a burst and two quotas look the same, if nobody
// asks again a window later. A window by the clock has a start that is known.
func TestTwoQuotasInOneBurstAreNoPass(t *testing.T) {
	asked := func(seq int, phase string, at time.Duration, is timeline.Outcome) (o timeline.Observation) {
		o.Seq, o.Phase, o.Partition, o.Cost, o.Sent, o.Outcome = seq, phase, "p", 1, at, is
		return o
	}
	for _, x := range []struct {
		limit   string
		units   int
		later   time.Duration // when the client asks again
		doubled bool
	}{
		{"fixed-window,rate=5/1s,align=unknown", 6, 500 * time.Millisecond, true},
		{"fixed-window,rate=5/1s,align=shared", 6, 0, true},
		{"token-bucket,rate=5/s,burst=5,refill=interval,fill=5", 6, 0, true},
		{"fixed-window,rate=5/1s,align=unknown", 5, 500 * time.Millisecond, false},
		{"fixed-window,rate=5/1s,align=unknown", 6, 1100 * time.Millisecond, false},
		{"fixed-window,rate=5/1s", 6, 0, false},
	} {
		s, err := scenario.Parse([]byte(head+`phases:
  - {name: a, shape: at-once, requests: 2x}
  - {name: rest, shape: silence, duration: 0.5x}
  - {name: b, shape: at-once, requests: 1}
`), "x.yaml", scenario.ParseOptions{Limit: x.limit})
		if err != nil {
			t.Fatal(err)
		}
		tl := &timeline.Timeline{}
		for i := range x.units {
			tl.Observations = append(tl.Observations, asked(i, "a", time.Duration(i), timeline.Allowed))
		}
		tl.Observations = append(tl.Observations, asked(x.units, "b", x.later, timeline.Denied))
		if why := doubled(s, tl); (why != "") != x.doubled {
			t.Errorf("%s, %d units: got %q, want doubled: %v", x.limit, x.units, why, x.doubled)
		}
	}
}
