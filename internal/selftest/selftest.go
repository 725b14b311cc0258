// Package selftest runs every bundled scenario against the embedded target, right and with each fault that
// the scenario claims to catch, and counts what was caught: the proof, on the user's own machine, that a
// verdict means something.
package selftest

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/scenario/grammar"
	"github.com/rlcheck/rlcheck/internal/target"
	"github.com/rlcheck/rlcheck/internal/trial"
	"github.com/rlcheck/rlcheck/internal/verdict"
	"github.com/rlcheck/rlcheck/scenarios"
)

// Options say how a self-test runs. The zero value is good.
type Options struct {
	// Quick tries each fault in one scenario only, the shortest that claims it.
	Quick bool
	// Workers is how many trials run at a time; 0 for eight a processor. One that mostly waits counts a half.
	Workers int
	// Version is that of rlcheck.
	Version string
	// Progress is called after each trial, one call at a time; may be nil.
	Progress func(done, planned int)
	// Run runs one scenario; nil for a real run on loopback. The id is different for each.
	Run func(ctx context.Context, s *scenario.Scenario, id string) result.Scenario
}

// Cell is one scenario against one target.
type Cell struct {
	// Scenario is the scenario's id; Fault the target's fault, empty for the right target.
	Scenario, Fault string
	// Verdict is that of the scenario. Right targets are to pass, faults to fail.
	Verdict verdict.Verdict
	// Why says what was found, or why nothing was.
	Why string
	// claims are what the scenario judged; quiet tells that it was tried on a quiet machine.
	claims []verdict.Claim
	quiet  bool
}

// Good tells whether the scenario said what it should.
func (c Cell) Good() bool {
	if c.Fault == "" {
		return c.Verdict == verdict.Pass
	}
	return c.Verdict == verdict.Fail
}

// Result is a whole self-test.
type Result struct {
	// Cells are in the order of the scenarios: the right target, then the faults by name.
	Cells []Cell
	// Unclaimed are the faults that no bundled scenario claims, ascending; Known is how many faults there
	// are.
	Unclaimed []string
	Known     int
	Duration  time.Duration
	// Interrupted tells that some cells were not tried; they are not in Cells.
	Interrupted bool
}

// Verdict is Pass if every right target passed and every claimed fault failed, Fail if any did not, and
// Inconclusive if that is not known of some.
func (r *Result) Verdict() verdict.Verdict {
	v := verdict.Pass
	for _, c := range r.Cells {
		switch {
		case c.Good():
		case c.Verdict == verdict.Inconclusive:
			v = verdict.Worst(v, verdict.Inconclusive)
		default:
			v = verdict.Fail
		}
	}
	if len(r.Cells) == 0 || r.Interrupted {
		v = verdict.Worst(v, verdict.Inconclusive)
	}
	return v
}

// Killed counts the claimed faults that were tried and those that failed, of one scenario or, for "", of all.
func (r *Result) Killed(scenario string) (killed, claimed int) {
	for _, c := range r.Cells {
		if c.Fault == "" || scenario != "" && c.Scenario != scenario {
			continue
		}
		claimed++
		if c.Good() {
			killed++
		}
	}
	return killed, claimed
}

// Bundled parses the bundled scenarios with their own targets and limits, ascending by id, but those that
// take minutes.
func Bundled() ([]*scenario.Scenario, error) { return parse("*.yaml") }

// All parses the bundled scenarios as Bundled does, and those that take minutes behind them: they are not
// tried.
func All() ([]*scenario.Scenario, error) { return parse("*.yaml", "more/*.yaml") }

// parse reads the bundled scenarios with such names.
func parse(patterns ...string) ([]*scenario.Scenario, error) {
	var names []string
	for _, p := range patterns {
		found, err := fs.Glob(scenarios.FS, p)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	var out []*scenario.Scenario
	for _, name := range names {
		text, err := fs.ReadFile(scenarios.FS, name)
		if err != nil {
			return nil, err
		}
		s, err := grammar.Parse(text, name,
			grammar.Options{Env: func(string) (string, bool) { return "", false }})
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// caughtBy returns, for every fault of the embedded target and proxy, the ids of the scenarios that claim it,
// ascending. A fault that none claims has an empty list.
func caughtBy(all []*scenario.Scenario) map[string][]string {
	out := map[string][]string{}
	for _, f := range target.Faults() {
		out[f.Name] = nil
	}
	for _, s := range all {
		for _, fault := range s.Catches {
			out[fault] = append(out[fault], s.ID)
		}
	}
	return out
}

// tester is one self-test under way.
type tester struct {
	o      Options
	byID   map[string]*scenario.Scenario
	mu     sync.Mutex
	done   int
	number int
	total  int
}

// know fills in which faults there are, and which of them no scenario claims.
func (r *Result) know(all []*scenario.Scenario) {
	for fault, by := range caughtBy(all) {
		if r.Known++; len(by) == 0 {
			r.Unclaimed = append(r.Unclaimed, fault)
		}
	}
	slices.Sort(r.Unclaimed)
}

// Run tries all of it: first the right targets whose latencies are judged, one at a time, then the other
// right targets and the faults, many at a time. What was inconclusive, and a fault that passed, is tried
// again with few others beside it: a fault may need a window that lies just so. What is not sure then, or
// failed for its latency alone, is tried on a quiet machine, and judged with all that a run has. Cancelling
// ctx stops it; what was done is in the result. The error is that of a bundled scenario that cannot be read.
func Run(ctx context.Context, o Options) (*Result, error) {
	began := time.Now()
	known, err := All()
	if err != nil {
		return nil, err
	}
	all, err := Bundled()
	if err != nil {
		return nil, err
	}
	t := &tester{o: o, byID: map[string]*scenario.Scenario{}}
	var timed, rest []*Cell
	for _, s := range all {
		t.byID[s.ID] = s
		if len(s.Expect.Latency) > 0 {
			timed = append(timed, &Cell{Scenario: s.ID})
		} else {
			rest = append(rest, &Cell{Scenario: s.ID})
		}
	}
	wrong := claimed(all, o.Quick)
	t.total = len(timed) + len(rest) + len(wrong)
	workers := o.Workers
	if workers <= 0 {
		workers = 8 * runtime.GOMAXPROCS(0)
	}
	many := slices.Concat(rest, wrong)
	// The longest first, so that none of them is left alone at the end.
	slices.SortStableFunc(many, func(a, b *Cell) int { return cmp.Compare(t.takes(b), t.takes(a)) })
	t.try(ctx, timed, 1)
	t.try(ctx, many, workers)
	cells := slices.Concat(timed, many)
	again := func(workers int, sure func(*Cell) bool) {
		cells := slices.DeleteFunc(slices.Clone(cells), sure)
		t.total += len(cells)
		t.try(ctx, cells, workers)
	}
	again(max(2, workers/4), func(c *Cell) bool { return c.sure() || c.Verdict == verdict.Fail })
	for range quietly {
		again(1, (*Cell).sure)
	}

	r := &Result{Interrupted: ctx.Err() != nil}
	r.know(known)
	for _, c := range cells {
		if c.claims != nil || c.Why != "" {
			r.Cells = append(r.Cells, *c)
		}
	}
	slices.SortStableFunc(r.Cells, func(a, b Cell) int {
		if d := strings.Compare(a.Scenario, b.Scenario); d != 0 {
			return d
		}
		return strings.Compare(a.Fault, b.Fault)
	})
	r.Duration = time.Since(began)
	return r, nil
}

// claimed returns a cell for every fault that a scenario claims; quick, only for the shortest of its
// scenarios.
func claimed(all []*scenario.Scenario, quick bool) []*Cell {
	var out []*Cell
	least := map[string]time.Duration{}
	takes := func(s *scenario.Scenario) time.Duration { return max(s.Summary().Duration, 1) }
	for _, s := range all {
		for _, fault := range s.Catches {
			if d, ok := least[fault]; !ok || takes(s) < d {
				least[fault] = takes(s)
			}
		}
	}
	given := map[string]bool{}
	for _, s := range all {
		for _, fault := range s.Catches {
			if quick && (takes(s) > least[fault] || given[fault]) {
				continue
			}
			given[fault] = true
			out = append(out, &Cell{Scenario: s.ID, Fault: fault})
		}
	}
	return out
}

// takes returns how long the scenario of a cell is planned to take.
func (t *tester) takes(c *Cell) time.Duration { return t.byID[c.Scenario].Summary().Duration }

// A worker has some places. A trial takes all of them, or one if it lasts for waits and mostly waits.
const (
	places = 2
	waits  = 3 * time.Second
)

// try runs the cells in their order, at most workers at a time; alone where that is one.
func (t *tester) try(ctx context.Context, cells []*Cell, workers int) {
	free := make(chan struct{}, places*workers)
	var wg sync.WaitGroup
	for _, c := range cells {
		takes := places
		if workers > 1 && t.takes(c) >= waits {
			takes = 1
		}
		for range takes {
			free <- struct{}{}
		}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			t.one(ctx, c, workers == 1)
			for range takes {
				<-free
			}
		})
	}
	wg.Wait()
}

// one runs one cell. A cell that an interruption cut short is left untried.
func (t *tester) one(ctx context.Context, c *Cell, quiet bool) {
	s := *t.byID[c.Scenario]
	s.Target.Fault = c.Fault
	t.mu.Lock()
	t.number++
	id := fmt.Sprintf("selftest-%d", t.number)
	t.mu.Unlock()
	run := t.o.Run
	if run == nil {
		run = func(ctx context.Context, s *scenario.Scenario, id string) result.Scenario {
			return trial.Scenario(ctx, s,
				trial.Options{ID: id, Seed: 1, Version: t.o.Version, OnlyProofs: c.Fault != "" && !quiet})
		}
	}
	out := run(ctx, &s, id)
	if ctx.Err() != nil {
		return
	}
	c.Verdict, c.claims, c.Why, c.quiet = out.Verdict, out.Claims, why(out), quiet
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done++
	if t.o.Progress != nil {
		t.o.Progress(t.done, t.total)
	}
}

// why says in a sentence what a verdict rests on: the first claim that failed, or the reason.
func why(out result.Scenario) string {
	for _, c := range out.Claims {
		if out.Verdict == verdict.Fail && c.Verdict == verdict.Fail {
			return c.ID + ": " + c.Text
		}
	}
	if out.Reason != "" {
		return string(out.Reason) + ": " + out.Detail
	}
	if len(out.Claims) > 0 {
		return out.Claims[0].ID + ": " + out.Claims[0].Text
	}
	return "nothing was claimed"
}

// quietly is how often what was not sure is tried on a quiet machine.
const quietly = 2

// sure tells whether a cell needs no other try on a quiet machine. A right target that fails is a false
// alarm, which no later pass makes good, unless it was but slow. A fault has to be caught for more than being
// slow beside others.
func (c *Cell) sure() bool {
	if c.Verdict == verdict.Fail && c.beyondLatency() {
		return true
	}
	return c.Good() && (c.Verdict == verdict.Pass || c.quiet)
}

// beyondLatency tells whether a claim failed that is not about latency.
func (c *Cell) beyondLatency() bool {
	return slices.ContainsFunc(c.claims, func(claim verdict.Claim) bool {
		return claim.Verdict == verdict.Fail && claim.Kind != verdict.ClaimLatency
	})
}
