package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// verdictOf returns the result of an invented run of one scenario.
func verdictOf(v result.Verdict, claim string) result.Scenario {
	out := result.Scenario{Verdict: v, Claims: []result.Claim{{ID: claim, Kind: result.KindOf(claim),
		Verdict: v, Text: "as it is"}}}
	if v == result.Inconclusive {
		out.Reason, out.Detail = result.ScheduleMissed, "late"
	}
	return out
}

// right returns the right verdict.
func right(_ context.Context, s *scenario.Scenario, _ string, _ bool) result.Scenario {
	if s.Target.Fault == "" {
		return verdictOf(result.Pass, "conformance")
	}
	return verdictOf(result.Fail, "conformance")
}

func TestEveryClaimIsTriedOnce(t *testing.T) {
	all, err := BundledScenarios()
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]int{}
	ids := map[string]bool{}
	var mu sync.Mutex
	var now, most, busy, mostBusy, alone atomic.Int32
	r, err := Selftest(context.Background(),
		SelftestOptions{Workers: 3, Run: func(ctx context.Context, s *scenario.Scenario, id string,
			_ bool) result.Scenario {
			most.Store(max(most.Load(), now.Add(1)))
			if s.Summary().Duration < waits {
				mostBusy.Store(max(mostBusy.Load(), busy.Add(1)))
				defer busy.Add(-1)
			}
			if s.Target.Fault == "" && len(s.Expect.Latency) > 0 {
				alone.Store(max(alone.Load(), now.Load()))
			}
			mu.Lock()
			tried[s.ID+"/"+s.Target.Fault]++
			ids[id] = true
			mu.Unlock()
			out := right(ctx, s, id, false)
			now.Add(-1)
			return out
		}})
	if err != nil {
		t.Fatal(err)
	}
	if most.Load() > 3*selftestPlaces || mostBusy.Load() > 3 || alone.Load() != 1 {
		t.Errorf("%d trials at a time, %d of them short, want at most 6 and 3; right targets with "+
			"latencies %d at a time, want 1", most.Load(), mostBusy.Load(), alone.Load())
	}
	want := 0
	for _, s := range all {
		for _, fault := range append([]string{""}, s.Catches...) {
			if want++; tried[s.ID+"/"+fault] != 1 {
				t.Errorf("%s/%s was tried %d times, want once", s.ID, fault, tried[s.ID+"/"+fault])
			}
		}
	}
	killed, claimed := r.Killed("")
	if len(tried) != want || len(ids) != want || len(r.Cells) != want || killed != want-len(all) ||
		claimed != killed || r.Verdict() != result.Pass {
		t.Errorf("tried %d with %d ids, %d cells, killed %d of %d, %s; want %d", len(tried), len(ids),
			len(r.Cells), killed, claimed, r.Verdict(), want)
	}
	if text := r.Text(); !strings.Contains(text, "(100.0 %)") || !strings.Contains(text, "burst") {
		t.Errorf("got the text %s", text)
	}
}

// TestQuickTriesEachFaultOnce: with Quick, only one scenario tries each fault.
func TestQuickTriesEachFaultOnce(t *testing.T) {
	all, err := BundledScenarios()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Selftest(context.Background(), SelftestOptions{Quick: true, Run: right})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, c := range r.Cells {
		seen[c.Fault]++
	}
	caught := CaughtBy(all)
	for fault, by := range caught {
		if want := min(len(by), 1); seen[fault] != want {
			t.Errorf("%s was tried %d times, want %d", fault, seen[fault], want)
		}
	}
	if seen[""] != len(all) {
		t.Errorf("%d right targets, want %d", seen[""], len(all))
	}
	if r.Known != len(Faults()) || len(r.Unclaimed) > 0 {
		t.Errorf("%d known, unclaimed %v: a fault that no scenario catches shows nothing", r.Known,
			r.Unclaimed)
	}
	r.Unclaimed = []string{"nobody-knows"}
	if !strings.Contains(r.Text(),
		fmt.Sprintf("1 of %d known faults are claimed by no bundled scenario: nobody-knows", r.Known)) {
		t.Errorf("faults that nobody claims are not told of: %s", r.Text())
	}
}

// TestVerdictOfASelfTest shows what decides the verdict, and what is tried again.
func TestVerdictOfASelfTest(t *testing.T) {
	for _, c := range []struct {
		name, at string // the cell with another answer, as SCENARIO/FAULT
		answer   result.Scenario
		want     result.Verdict
		tries    int // how often that cell is tried
		says     string
	}{
		{"a right target that fails", "burst/", verdictOf(result.Fail, "conformance"), result.Fail, 1,
			"burst FAILS a correct target: conformance: as it is"},
		{"a right target whose latency fails", "burst/", verdictOf(result.Fail, "latency-denied-p99"),
			result.Fail, 3, "burst FAILS a correct target"},
		{"a right target that is inconclusive", "burst/", verdictOf(result.Inconclusive, "conformance"),
			result.Inconclusive, 4, "burst, correct target: inconclusive: schedule-missed: late"},
		{"a fault that passes", "burst/burst-off-by-one", verdictOf(result.Pass, "conformance"),
			result.Fail, 4, "burst misses burst-off-by-one: conformance: as it is"},
		{"a fault that is inconclusive", "burst/burst-off-by-one",
			verdictOf(result.Inconclusive, "conformance"), result.Inconclusive, 4,
			"burst, burst-off-by-one: inconclusive"},
		{"a fault that fails for its latency, twice", "burst/burst-off-by-one",
			verdictOf(result.Fail, "latency-denied-p99"), result.Pass, 2, "(100.0 %)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tries atomic.Int32
			r, err := Selftest(context.Background(),
				SelftestOptions{Run: func(ctx context.Context, s *scenario.Scenario, id string,
					_ bool) result.Scenario {
					if s.ID+"/"+s.Target.Fault != c.at {
						return right(ctx, s, id, false)
					}
					tries.Add(1)
					return c.answer
				}})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict() != c.want || int(tries.Load()) != c.tries || !strings.Contains(r.Text(), c.says) {
				t.Errorf("got %s after %d tries, want %s after %d:\n%s", r.Verdict(), tries.Load(), c.want,
					c.tries, r.Text())
			}
		})
	}
}

func TestInterruptedSelfTestPassesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	const workers, last = 2, 9 // each other worker may have begun one more at the end
	var n atomic.Int32
	r, err := Selftest(ctx, SelftestOptions{Workers: workers,
		Run: func(ctx context.Context, s *scenario.Scenario, id string, _ bool) result.Scenario {
			if n.Add(1) >= last {
				cancel()
			}
			return right(ctx, s, id, false)
		}})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted || r.Verdict() != result.Inconclusive || len(r.Cells) > last+selftestPlaces*workers-1 ||
		!strings.Contains(r.Text(), "interrupted") {
		t.Errorf("interrupted %v, %s, %d cells\n%s", r.Interrupted, r.Verdict(), len(r.Cells), r.Text())
	}
}

// onLoopback runs a scenario as the command does.
func onLoopback(ctx context.Context, s *scenario.Scenario, id string, onlyProofs bool) result.Scenario {
	return trial.Scenario(ctx, s, trial.Options{ID: id, Seed: 1, OnlyProofs: onlyProofs,
		Embed: func(s *scenario.Scenario, seed uint64, n trial.Network) (trial.Embedded, error) {
			return Embed(s, seed, "", n)
		}})
}

// TestOneRealCell sends the shortest scenario over loopback, to a right target and to a wrong one.
func TestOneRealCell(t *testing.T) {
	all, err := BundledScenarios()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s *scenario.Scenario) bool { return s.ID == "proxy-header-stripping" })
	s := all[i]
	tester := &tester{o: SelftestOptions{Run: onLoopback}, byID: map[string]*scenario.Scenario{s.ID: s}}
	cells := []*SelftestCell{{Scenario: s.ID}, {Scenario: s.ID, Fault: s.Catches[0]}}
	tester.try(context.Background(), cells, 2)
	for _, c := range cells {
		if !c.Good() && c.Verdict != result.Inconclusive { // a busy machine may be late
			t.Errorf("%+v", *c)
		}
	}
}
