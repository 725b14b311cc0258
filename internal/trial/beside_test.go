package trial

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/pacing"
	"github.com/rlcheck/rlcheck/internal/trial/pipe"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/scenario/grammar"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/target"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// atOnce runs the bundled scenarios that may be recorded beside each other against one limiter, and the
// others after them, and those that do not stand once more.
func atOnce(t *testing.T, limit, fault string) (all []result.Scenario, longest, took time.Duration) {
	t.Helper()
	l, err := spec.Parse(limit)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		h, err := target.New(target.Options{Limit: l, PartitionHeader: "X-Api-Key", Fault: fault, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		n := new(pipe.Network)
		url, stop, err := n.Listen(h)
		if err != nil {
			t.Fatal(err)
		}
		var those []*scenario.Scenario
		for _, s := range bundled(t, grammar.Options{Limit: limit, Target: url}) {
			if s.Unmet() == "" && s.Alone() == "" && !s.Example {
				those = append(those, s)
				longest = max(longest, s.Summary().Duration)
			}
		}
		o := Options{Seed: 1, Embed: embedded, Network: n, Pacer: pacing.Sleep(), WallError: time.Millisecond}
		all = make([]result.Scenario, len(those))
		began := time.Now()
		Beside(context.Background(), those, func(i int, judging func() func()) {
			o := o
			o.ID, o.Judging = "m"+those[i].ID, judging
			all[i] = Scenario(context.Background(), those[i], o)
		})
		took = time.Since(began)
		for i := range all {
			if !Stands(&all[i]) {
				o.ID = "again" + those[i].ID
				all[i] = Settled(all[i], Scenario(context.Background(), those[i], o), "timeline-1.ndjson")
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
	faults := []string{"", "burst-off-by-one", "per-replica-counters", "reset-in-ms", "state-expires-early"}
	if testing.Short() {
		faults = faults[1:2]
	}
	for _, fault := range faults {
		beside, longest, took := atOnce(t, limit, fault)
		var those []string
		for _, s := range beside {
			those = append(those, s.ID)
		}
		row := inARow(t, grammar.Options{Limit: limit}, fault, those...)
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
			if got.Verdict == verdict.Fail {
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
		all := bundled(t, grammar.Options{})
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
		Beside(ctx, bundled(t, grammar.Options{}), func(int, func() func()) {
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

// TestWhatOthersMayHaveCausedIsAskedAgain: a denial beside others is no failure where there is none alone.
// What was admitted is.
func TestWhatOthersMayHaveCausedIsAskedAgain(t *testing.T) {
	found := func(v verdict.Verdict, kind verdict.Kind) result.Scenario {
		p := []verdict.PartitionVerdict{{Findings: []verdict.Finding{{Kind: kind}}}}
		return result.Scenario{Verdict: v, Judgement: &verdict.Judgement{Partitions: p}}
	}
	over, under := found(verdict.Fail, verdict.OverAdmission), found(verdict.Fail, verdict.UnderAdmission)
	pass, late := result.Scenario{Verdict: verdict.Pass}, result.Scenario{Reason: verdict.ScheduleMissed}
	unmet := result.Scenario{Reason: verdict.NeedsFailed}
	for name, c := range map[string]struct {
		of   result.Scenario
		want bool
	}{"over": {over, true}, "under": {under, false}, "pass": {pass, true}, "late": {late, false},
		"unmet": {unmet, true}} {
		if got := Stands(&c.of); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
	if got := Settled(under, pass, "f"); got.Verdict != verdict.Inconclusive ||
		got.Reason != verdict.ForeignTraffic || !got.FailedBeside {
		t.Errorf("failed beside, passed alone: got %s %s", got.Verdict, got.Reason)
	}
	if got := Settled(under, under, "f"); got.Verdict != verdict.Fail {
		t.Errorf("failed both times: got %s", got.Verdict)
	}
	if got := Settled(late, pass, "f"); got.Verdict != verdict.Pass {
		t.Errorf("late beside, passed alone: got %s", got.Verdict)
	}
}
