package trial

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// atOnce runs the bundled scenarios that may be recorded beside each other against one limiter, and those
// that do not stand once more, alone.
func atOnce(t *testing.T, limit, fault string) (all []result.Scenario, longest, took time.Duration) {
	return atOnceBehind(t, limit, lab.Options{PartitionHeader: "X-Api-Key", Fault: fault},
		func(h http.Handler) http.Handler { return h })
}

// atOnceBehind does so of the scenarios in only, or of all, with something before the limiter.
func atOnceBehind(t *testing.T, limit string, o lab.Options, before func(http.Handler) http.Handler,
	only ...string) (all []result.Scenario, longest, took time.Duration) {
	t.Helper()
	l, err := spec.Parse(limit)
	if err != nil {
		t.Fatal(err)
	}
	o.Limit, o.Seed = l, 1
	synctest.Test(t, func(t *testing.T) {
		h, err := lab.New(o)
		if err != nil {
			t.Fatal(err)
		}
		n := new(lab.PipeNetwork)
		url, stop, err := n.Listen(before(h))
		if err != nil {
			t.Fatal(err)
		}
		var those []*scenario.Scenario
		for _, s := range bundled(t, scenario.ParseOptions{Limit: limit, Target: url}, only...) {
			if s.Unmet() == "" && s.Alone() == "" && !s.Example {
				those = append(those, s)
				longest = max(longest, s.Summary().Duration)
				for i := range 2 * min(1, len(only)) { // a few chosen ones run three times each
					twin := *s
					twin.ID += strings.Repeat("x", i+1)
					those = append(those, &twin)
				}
			}
		}
		o := Options{Seed: 1, Embed: embedded, Network: n, Pacer: transport.SleepingPacer(),
			WallError: time.Millisecond}
		all = make([]result.Scenario, len(those))
		began := time.Now()
		Beside(context.Background(), those, func(i int, judging func() func()) {
			o := o
			o.ID, o.Judging = "m"+those[i].ID, judging
			all[i] = Scenario(context.Background(), those[i], o)
		})
		took = time.Since(began)
		var recorded []*result.Scenario
		for _, s := range all {
			recorded = append(recorded, &s)
		}
		for i := range all {
			if why, stands := Stands(recorded[i], recorded); !stands {
				o.ID = "again" + those[i].ID
				time.Sleep(time.Minute) // until a quota that all clients share has come back
				alone := Scenario(context.Background(), those[i], o)
				all[i] = Settled(all[i], alone, "timeline-1.ndjson", why)
			}
		}
		_, _ = stop(), h.Close()
		time.Sleep(time.Minute)
	})
	return all, longest, took
}

// TestVerdictsBesideAreThoseOfARow: scenarios that are recorded beside each other find what they find one
// after the other, of a right limiter and of wrong ones, in the time of the longest of them.
func TestVerdictsBesideAreThoseOfARow(t *testing.T) {
	const limit = "token-bucket,rate=20/s,burst=10"
	faults := []string{"burst-off-by-one", "", "state-expires-early", "per-replica-counters", "reset-in-ms"}
	switch {
	case testing.Short():
		faults = faults[:1]
	case os.Getenv("RLCHECK_SOAK") == "":
		faults = faults[:3]
	}
	for _, fault := range faults {
		beside, longest, took := atOnce(t, limit, fault)
		var those []string
		for _, s := range beside {
			those = append(those, s.ID)
		}
		row := inARow(t, scenario.ParseOptions{Limit: limit}, fault, those...)
		if len(beside) < 15 || took > longest*13/10 {
			t.Errorf("fault %q: got %d scenarios in %v, want 15 at least in 1.3 times %v", fault,
				len(beside), took, longest)
		}
		failed := 0
		for _, got := range beside {
			i := slices.IndexFunc(row, func(s result.Scenario) bool { return s.ID == got.ID })
			if want := row[i]; got.Verdict != want.Verdict || got.Reason != want.Reason {
				t.Errorf("fault %q: %s: got %s %s, want %s %s: %s", fault, got.ID, got.Verdict, got.Reason,
					want.Verdict, want.Reason, explain(got))
			}
			if got.Verdict == result.Fail {
				failed++
			}
		}
		if (failed > 0) != (fault != "") {
			t.Errorf("fault %q: %d scenarios fail", fault, failed)
		}
	}
}

// TestNoneIsJudgedBeforeAllAreRecorded: what judges takes the processor of what records. One that has ended
// does not keep others from beginning, and no more connections are open than there is room for.
func TestNoneIsJudgedBeforeAllAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := bundled(t, scenario.ParseOptions{})
		var mu sync.Mutex
		recording, open, most, recorded := 0, 0, 0, 0
		count := func(i, by int) {
			mu.Lock()
			defer mu.Unlock()
			recording += by
			open += by * all[i].Summary().Connections
			most = max(most, open)
		}
		Beside(t.Context(), all, func(i int, judging func() func()) {
			count(i, 1)
			time.Sleep(time.Second)
			count(i, -1)
			defer judging()()
			mu.Lock()
			defer mu.Unlock()
			if recorded++; recording != 0 {
				t.Errorf("%s is judged while %d are recorded", all[i].ID, recording)
			}
		})
		if recorded != len(all) || most > besideConnections {
			t.Errorf("got %d of %d recorded, %d connections at most", recorded, len(all), most)
		}
	})
}

// TestWhatHasNotBegunIsLeftOut: an end in the middle begins no more.
func TestWhatHasNotBegunIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), besideApart*3/2)
		defer stop()
		var mu sync.Mutex
		begun := 0
		Beside(ctx, bundled(t, scenario.ParseOptions{}), func(int, func() func()) {
			mu.Lock()
			begun++
			mu.Unlock()
			<-ctx.Done()
		})
		if begun != 2 {
			t.Errorf("got %d begun, want 2", begun)
		}
	})
}

// TestWhatIsNotFinalIsAskedAgain: what was late beside others is asked again. What was admitted is final. A
// denial is if nobody else sent anything.
func TestWhatIsNotFinalIsAskedAgain(t *testing.T) {
	found := func(v result.Verdict, kind result.Kind) result.Scenario {
		p := []result.PartitionVerdict{{Findings: []result.Finding{{Kind: kind}}}}
		return result.Scenario{Verdict: v, Judgement: &result.Judgement{Partitions: p},
			Timeline: &timeline.Timeline{}}
	}
	over, under := found(result.Fail, result.OverAdmission), found(result.Fail, result.UnderAdmission)
	pass, late := result.Scenario{Verdict: result.Pass}, result.Scenario{Reason: result.ScheduleMissed}
	unmet := result.Scenario{Reason: result.NeedsFailed}
	for name, c := range map[string]struct {
		of   result.Scenario
		want bool
	}{"over": {over, true}, "under": {under, true}, "pass": {pass, true}, "late": {late, false},
		"unmet": {unmet, true}} {
		if _, got := Stands(&c.of, nil); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
	if got := Settled(under, pass, "f", "why"); got.Verdict != result.Inconclusive ||
		got.Reason != result.ForeignTraffic || !got.FailedBeside || !strings.HasSuffix(got.Detail, ": why") {
		t.Errorf("failed beside, passed alone: got %s %s: %s", got.Verdict, got.Reason, got.Detail)
	}
	if got := Settled(under, under, "f", "why"); got.Verdict != result.Fail {
		t.Errorf("failed both times: got %s", got.Verdict)
	}
	if got := Settled(late, pass, "f", ""); got.Verdict != result.Pass {
		t.Errorf("late beside, passed alone: got %s", got.Verdict)
	}
}

// ofOneClient are scenarios that a limiter passes that counts all clients together, if nobody else sends.
var ofOneClient = []string{"burst", "quota-window"}

// TestClientsThatShareAQuotaDisturbEachOther: a right limiter that counts addresses, or has a quota for all
// clients beside theirs, denies some early when scenarios run beside each other. It is not accused, and the
// reason names what they share.
func TestClientsThatShareAQuotaDisturbEachOther(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	// A cap behind the limiter counts what that admits, one before it all requests.
	capped := func(limit string, before bool) func(http.Handler) http.Handler {
		return func(h http.Handler) http.Handler {
			l, err := spec.Parse(limit)
			if err != nil {
				t.Fatal(err)
			}
			outer, err := lab.New(lab.Options{Limit: l, PartitionHeader: "X-No-Client", Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				in, out := httptest.NewRecorder(), httptest.NewRecorder()
				if before {
					outer.ServeHTTP(out, r)
				}
				if out.Code == http.StatusOK {
					h.ServeHTTP(in, r)
				}
				if !before && in.Code == http.StatusOK { // else it costs the others nothing
					outer.ServeHTTP(out, r)
				}
				if out.Code != http.StatusOK {
					w.WriteHeader(out.Code)
					return
				}
				maps.Copy(w.Header(), in.Header())
				w.WriteHeader(in.Code)
			})
		}
	}
	none := func(h http.Handler) http.Handler { return h }
	limits := []string{"token-bucket,rate=20/s,burst=10", "fixed-window,rate=20/1s",
		"sliding-window-log,rate=20/1s", "fixed-window,rate=20/1s,align=first"}
	if testing.Short() {
		limits = limits[:2]
	}
	for _, limit := range limits {
		for name, c := range map[string]struct {
			field  string
			before func(http.Handler) http.Handler
		}{
			"by address":              {"X-No-Client", none},
			"cap of a bucket":         {"X-Api-Key", capped("token-bucket,rate=45/s,burst=25", false)},
			"cap of a window":         {"X-Api-Key", capped("fixed-window,rate=50/1s", false)},
			"cap before, of a bucket": {"X-Api-Key", capped("token-bucket,rate=100/s,burst=70", true)},
			"cap before, of a window": {"X-Api-Key", capped("fixed-window,rate=100/1s", true)},
			"cap of all, of a window": {"X-Api-Key", capped("fixed-window,rate=100/1s,count=all", true)},
			"cap of all, of a log":    {"X-Api-Key", capped("sliding-window-log,rate=100/s,count=all", true)},
		} {
			o := lab.Options{PartitionHeader: c.field}
			all, _, _ := atOnceBehind(t, limit, o, c.before, ofOneClient...)
			foreign := 0
			for _, s := range all {
				if s.Verdict == result.Fail {
					t.Errorf("%s, %s: %s is accused: %s", limit, name, s.ID, explain(s))
				}
				if s.Reason == result.ForeignTraffic {
					foreign++
					t.Logf("%s, %s: %s: %s", limit, name, s.ID, s.Detail)
				}
			}
			if foreign == 0 {
				t.Errorf("%s, %s: nothing was disturbed", limit, name)
			}
		}
	}
}

// TestAFailureBesideOthersStands: a limiter counts clients apart and denies one of them once without a
// reason. Alone the scenario passes. The others explain nothing, so the FAIL stands.
func TestAFailureBesideOthersStands(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for _, id := range []string{"quota-window", "quota-windowx"} {
		once := func(h http.Handler) http.Handler {
			var seen atomic.Int32
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.Header.Get("X-Api-Key"), "m"+id+"-") && seen.Add(1) == 1 {
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				h.ServeHTTP(w, r)
			})
		}
		all, _, _ := atOnceBehind(t, "fixed-window,rate=20/1s",
			lab.Options{PartitionHeader: "X-Api-Key"}, once, ofOneClient...)
		if !slices.ContainsFunc(all, func(s result.Scenario) bool { return s.ID == id }) {
			t.Errorf("%s was not recorded", id)
		}
		for _, s := range all {
			if want := s.ID == id; (s.Verdict == result.Fail) != want {
				t.Errorf("a denial in %s: %s is %s: %s", id, s.ID, s.Verdict, explain(s))
			}
		}
	}
}
