package trial

import (
	"context"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// promising returns a scenario at the embedded target, of which nothing is promised but what is given.
func promising(s *scenario.Scenario, promises ...result.Promise) *scenario.Scenario {
	out := *s
	out.Expect.Promised = promises
	return &out
}

// restsOnPromises tells whether a verdict of s may depend on promises.
func restsOnPromises(s *scenario.Scenario) bool {
	e := s.Expect
	odd := func(p scenario.Phase) bool { return p.Cost > 1 || p.Method != "" }
	waits := e.RetryAfter != (claim.RetryAfterExpect{})
	return waits || len(e.Fields) > 0 || e.Quota.Counts || e.Quota.Stable ||
		slices.ContainsFunc(s.Phases, odd)
}

// TestFaultsAreCaughtWithoutPromises: of the faults that a scenario claims, all are caught at a target that
// promised nothing, but for those that say what has to be promised; and those are no fault then.
func TestFaultsAreCaughtWithoutPromises(t *testing.T) {
	needs := map[string]string{}
	for _, f := range lab.Faults() {
		needs[f.Name] = f.Promise
	}
	tried := 0
	for _, s := range bundled(t, scenario.ParseOptions{}) {
		if !restsOnPromises(s) {
			continue
		}
		if out := virtually(t, promising(s)); out.Verdict != result.Pass {
			t.Errorf("%s, right target: got %s, want pass: %s", s.ID, out.Verdict, explain(out))
		}
		for i, fault := range s.Catches {
			if os.Getenv("RLCHECK_SOAK") == "" && needs[fault] == "" && i%4 != 0 {
				continue
			}
			tried++
			out := against(t, promising(s), fault)
			if caught := out.Verdict == result.Fail; caught != (needs[fault] == "") {
				t.Errorf("%s, %s, nothing promised: got %s; the fault needs %q: %s", s.ID, fault, out.Verdict,
					needs[fault], explain(out))
			}
			if needs[fault] == "" {
				continue
			}
			with := promising(s, result.Promise(needs[fault]))
			if out := against(t, with, fault); out.Verdict != result.Fail {
				t.Errorf("%s, %s, promised: got %s, want fail: %s", s.ID, fault, out.Verdict, explain(out))
			}
		}
	}
	if tried < 10 {
		t.Errorf("got %d cells, want those of six scenarios", tried)
	}
}

// TestWhatIsNotPromisedIsNotCounted: a target without Retry-After, or without costs, is right; what rests
// on them is named. The waits are still judged where RateLimit tells them.
func TestWhatIsNotPromisedIsNotCounted(t *testing.T) {
	for fault, want := range map[string]map[string]bool{
		"retry-after-missing": {"retry-after": false, "denial-response": false},
		"cost-ignored":        {"unit-cost": true},
	} {
		for _, s := range bundled(t, scenario.ParseOptions{}, slices.Collect(maps.Keys(want))...) {
			unjudged, ok := want[s.ID]
			if !ok {
				continue
			}
			out := against(t, promising(s), fault)
			r := result.Run{Scenarios: []result.Scenario{out, {Kind: result.Required, Verdict: result.Pass}}}
			notes := r.Notes()
			if out.Uncounted() != unjudged || r.Verdict(false) != result.Pass || len(notes) != 1 {
				t.Errorf("%s, %s: got %s (%s), notes %v; want not judged: %v", s.ID, fault, out.Verdict,
					out.Reason, notes, unjudged)
			}
		}
	}
}

// choosy is a network whose target does not take a method.
type choosy struct {
	*lab.PipeNetwork
	method string
	status int
}

func (n choosy) Listen(h http.Handler) (string, func() error, error) {
	return n.PipeNetwork.Listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == n.method {
			w.WriteHeader(n.status)
			return
		}
		h.ServeHTTP(w, r)
	}))
}

// TestAMethodThatIsNotTakenIsNotCounted: what a route does not take says nothing of its limiter; the others
// are judged.
func TestAMethodThatIsNotTakenIsNotCounted(t *testing.T) {
	for _, x := range []struct {
		method   string
		status   int
		fault    string
		promises []result.Promise
		want     result.Verdict
		// named tells that the method is named as not taken.
		named bool
	}{
		{"POST", 405, "", nil, result.Pass, true},
		{"POST", 404, "", nil, result.Pass, true},
		{"HEAD", 501, "", nil, result.Inconclusive, true}, // nothing is known of the partition of HEAD
		{"POST", 405, "head-unlimited", nil, result.Fail, true},
		{"POST", 400, "", nil, result.Pass, false},
		{"POST", 405, "", []result.Promise{result.PromiseMethods}, result.Pass, false},
		{"HEAD", 405, "", []result.Promise{result.PromiseMethods}, result.Inconclusive, false},
		{"GET", 404, "", nil, result.Inconclusive, false},
	} {
		for _, s := range bundled(t, scenario.ParseOptions{}, "head-and-methods") {
			s = promising(s, x.promises...)
			s.Target.Fault = x.fault
			var out result.Scenario
			synctest.Test(t, func(*testing.T) {
				o := Options{ID: "m", Seed: 1, Embed: embedded, Pacer: transport.SleepingPacer()}
				o.Network = choosy{new(lab.PipeNetwork), x.method, x.status}
				out = Scenario(context.Background(), s, o)
			})
			isIt := func(c result.Claim) bool { return c.ID == "methods-taken" }
			named, open := slices.ContainsFunc(out.Claims, isIt), x.want == result.Inconclusive
			if out.Verdict != x.want || named != x.named || out.Uncounted() != (named && open) {
				t.Errorf("%s %d %s %v: got %s, named %v; want %s, %v: %s", x.method, x.status, x.fault,
					x.promises, out.Verdict, named, x.want, x.named, explain(out))
			}
		}
	}
}

// TestWithoutCostsALimitIsStillALimit: a target that takes no costs is held to what one unit a request
// shows of it.
func TestWithoutCostsALimitIsStillALimit(t *testing.T) {
	for _, s := range bundled(t, scenario.ParseOptions{}, "unit-cost") {
		out := against(t, promising(s), "cost-ignored")
		less := promising(s)
		less.Limit = slices.Clone(s.Limit)
		less.Limit[0].Burst--
		for i := range less.Phases {
			less.Phases[i].Limit = less.Limit
		}
		Judge(&out, less, out.Timeline)
		text := out.Claims[0].Text
		single := strings.Contains(text, " requests allowed within ") &&
			strings.Contains(text, "at most 19 +")
		if out.Verdict != result.Fail || !single {
			t.Errorf("a burst of 20 where 19 is declared: got %s: %s", out.Verdict, explain(out))
		}
	}
}

// TestWhatDeniesTooEarlyIsNotAccusedOfCosts: a target that takes no costs and denies too early is told just
// that. It admitted no units too many, since nobody knows that a request was more than one.
func TestWhatDeniesTooEarlyIsNotAccusedOfCosts(t *testing.T) {
	for _, s := range bundled(t, scenario.ParseOptions{}, "unit-cost") {
		out := against(t, promising(s), "cost-ignored")
		more := promising(s)
		more.Limit = slices.Clone(s.Limit)
		more.Limit[0].Burst += 5
		for i := range more.Phases {
			more.Phases[i].Limit = more.Limit
		}
		Judge(&out, more, out.Timeline)
		c := out.Claims[0]
		if c.Verdict != result.Fail || c.Findings[0].Kind == result.OverAdmission {
			t.Errorf("a burst of 20 where 25 is declared: got %s: %s", out.Verdict, explain(out))
		}
	}
}

// TestWhatWasSeenOfAPartSaysNothingOfTheWhole: a field may still have come in what was not sent.
func TestWhatWasSeenOfAPartSaysNothingOfTheWhole(t *testing.T) {
	for _, s := range bundled(t, scenario.ParseOptions{}, "retry-after") {
		out := against(t, promising(s), "retry-after-missing")
		out.Timeline.Header.Interrupted = true
		Judge(&out, promising(s), out.Timeline)
		if out.Uncounted() || out.Verdict != result.Inconclusive {
			t.Errorf("interrupted: got %s (%s), want interrupted", out.Verdict, out.Reason)
		}
	}
}

// TestCostsThatAreChargedAreJudged: a target that was seen to charge something is held to the costs.
func TestCostsThatAreChargedAreJudged(t *testing.T) {
	for _, s := range bundled(t, scenario.ParseOptions{}, "unit-cost") {
		for _, fault := range s.Catches {
			if fault == "cost-ignored" {
				continue
			}
			// Which of requests that are sent together is denied first differs from run to run.
			promised, plain := against(t, promising(s), fault), against(t, s, fault)
			got, want := promised.Claims[0], plain.Claims[0]
			if got.ID != want.ID || got.Verdict != want.Verdict || want.Verdict != result.Fail {
				t.Errorf("%s: got %s %s, want the FAIL of %s", fault, got.ID, got.Verdict, want.ID)
			}
		}
	}
}

// TestWhatIsOpenIsNotTakenForWithoutCosts: a recording that shows nothing does not show that costs are free.
func TestWhatIsOpenIsNotTakenForWithoutCosts(t *testing.T) {
	for _, s := range bundled(t, scenario.ParseOptions{}, "unit-cost") {
		out := against(t, promising(s), "")
		for i := range out.Timeline.Observations {
			out.Timeline.Observations[i].Outcome, out.Timeline.Observations[i].Status = timeline.Unknown, 404
		}
		Judge(&out, promising(s), out.Timeline)
		if out.Reason != result.UnclassifiedStatus {
			t.Errorf("answers of 404 alone: got %s (%s), want unclassified-status", out.Verdict, out.Reason)
		}
	}
}
