package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/scenarios"
)

// SelftestOptions say how a self-test runs. Only Run must be set.
type SelftestOptions struct {
	// Quick tries each fault in only one scenario, the shortest that claims it.
	Quick bool
	// Workers is how many trials run at a time; 0 for eight per processor. A trial that mostly waits counts
	// half.
	Workers int
	// Progress is called after each trial, one call at a time; it may be nil.
	Progress func(done, planned int)
	// Run runs one scenario at its embedded target. Each call has another id. onlyProofs stops it at the
	// first proof of a failure.
	Run func(ctx context.Context, s *scenario.Scenario, id string, onlyProofs bool) result.Scenario
}

// SelftestCell is one scenario against one target.
type SelftestCell struct {
	// Scenario is the id of the scenario. Fault is the fault of the target, "" for the right target.
	Scenario, Fault string
	// Verdict is the verdict of the scenario. It should pass a right target and fail a faulty one.
	Verdict result.Verdict
	// Why says what was found, or why nothing was found.
	Why string
	// claims are what the scenario judged. quiet tells that it was tried on a quiet machine.
	claims []result.Claim
	quiet  bool
}

// Good tells whether the scenario gave the right verdict.
func (c SelftestCell) Good() bool {
	if c.Fault == "" {
		return c.Verdict == result.Pass
	}
	return c.Verdict == result.Fail
}

// SelftestResult is a whole self-test.
type SelftestResult struct {
	// Cells are in ascending order of the scenario ids, and within a scenario the right target comes before
	// the faults by name.
	Cells []SelftestCell
	// Unclaimed are the faults that no bundled scenario claims, ascending. Known is the number of all faults.
	Unclaimed []string
	Known     int
	Duration  time.Duration
	// Interrupted tells that some cells were not tried. They are not in Cells.
	Interrupted bool
}

// Verdict is Pass if every right target passed and every claimed fault failed. It is Fail if any cell had the
// opposite verdict, and otherwise Inconclusive.
func (r *SelftestResult) Verdict() result.Verdict {
	v := result.Pass
	for _, c := range r.Cells {
		switch {
		case c.Good():
		case c.Verdict == result.Inconclusive:
			v = result.Worst(v, result.Inconclusive)
		default:
			v = result.Fail
		}
	}
	if len(r.Cells) == 0 || r.Interrupted {
		v = result.Worst(v, result.Inconclusive)
	}
	return v
}

// Killed counts the claimed faults that were tried, and those that were caught. It counts those of one
// scenario, or of all for "".
func (r *SelftestResult) Killed(scenario string) (killed, claimed int) {
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

// BundledScenarios parses the bundled scenarios with their own targets and limits, ascending by id. It leaves
// out those that take minutes.
func BundledScenarios() ([]*scenario.Scenario, error) {
	return selftestParse(scenario.ParseOptions{}, "*.yaml")
}

// AllScenarios parses the scenarios of Bundled, followed by those that take minutes, which a self-test does
// not try.
func AllScenarios(env scenario.Env) ([]*scenario.Scenario, error) {
	return selftestParse(scenario.ParseOptions{Env: env}, "*.yaml", "more/*.yaml")
}

// selftestParse reads the bundled scenarios whose names match the patterns. Without o.Env no variable is set.
func selftestParse(o scenario.ParseOptions, patterns ...string) ([]*scenario.Scenario, error) {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
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
		s, err := scenario.Parse(text, name, o)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// CaughtBy returns, for every fault of the embedded target and proxy, the ids of the scenarios that claim it,
// ascending. The list is empty for an unclaimed fault.
func CaughtBy(all []*scenario.Scenario) map[string][]string {
	out := map[string][]string{}
	for _, f := range Faults() {
		out[f.Name] = nil
	}
	for _, s := range all {
		for _, fault := range s.Catches {
			out[fault] = append(out[fault], s.ID)
		}
	}
	return out
}

// tester is a self-test in progress.
type tester struct {
	o      SelftestOptions
	byID   map[string]*scenario.Scenario
	mu     sync.Mutex
	done   int
	number int
	total  int
}

// know sets the number of known faults, and those that no scenario claims.
func (r *SelftestResult) know(all []*scenario.Scenario) {
	for fault, by := range CaughtBy(all) {
		if r.Known++; len(by) == 0 {
			r.Unclaimed = append(r.Unclaimed, fault)
		}
	}
	slices.Sort(r.Unclaimed)
}

// Selftest tries everything. First it runs the right targets whose latencies are judged, one at a time. Then
// it runs the other right targets and the faults, many at a time.
//
// Inconclusive cells, and faults that passed, are tried again with few others beside them: a fault may need a
// window at a certain place. Cells that are still unsure, or failed for latency alone, are tried on a quiet
// machine with all claims judged.
//
// Cancelling ctx stops it; the result has what was done. An error means that a bundled scenario cannot be
// read.
func Selftest(ctx context.Context, o SelftestOptions) (*SelftestResult, error) {
	began := time.Now()
	known, err := AllScenarios(nil)
	if err != nil {
		return nil, err
	}
	all, err := BundledScenarios()
	if err != nil {
		return nil, err
	}
	t := &tester{o: o, byID: map[string]*scenario.Scenario{}}
	var timed, rest []*SelftestCell
	for _, s := range all {
		t.byID[s.ID] = s
		if len(s.Expect.Latency) > 0 {
			timed = append(timed, &SelftestCell{Scenario: s.ID})
		} else {
			rest = append(rest, &SelftestCell{Scenario: s.ID})
		}
	}
	wrong := claimed(all, o.Quick)
	t.total = len(timed) + len(rest) + len(wrong)
	workers := o.Workers
	if workers <= 0 {
		workers = 8 * runtime.GOMAXPROCS(0)
	}
	many := slices.Concat(rest, wrong)
	// The longest come first, so that none of them is left alone at the end.
	slices.SortStableFunc(many, func(a, b *SelftestCell) int { return cmp.Compare(t.takes(b), t.takes(a)) })
	t.try(ctx, timed, 1)
	t.try(ctx, many, workers)
	cells := slices.Concat(timed, many)
	again := func(workers int, sure func(*SelftestCell) bool) {
		cells := slices.DeleteFunc(slices.Clone(cells), sure)
		t.total += len(cells)
		t.try(ctx, cells, workers)
	}
	again(max(2, workers/4), func(c *SelftestCell) bool { return c.sure() || c.Verdict == result.Fail })
	for range quietly {
		again(1, (*SelftestCell).sure)
	}

	r := &SelftestResult{Interrupted: ctx.Err() != nil}
	r.know(known)
	for _, c := range cells {
		if c.claims != nil || c.Why != "" {
			r.Cells = append(r.Cells, *c)
		}
	}
	slices.SortStableFunc(r.Cells, func(a, b SelftestCell) int {
		if d := strings.Compare(a.Scenario, b.Scenario); d != 0 {
			return d
		}
		return strings.Compare(a.Fault, b.Fault)
	})
	r.Duration = time.Since(began)
	return r, nil
}

// claimed returns a cell for every fault that a scenario claims. With quick, only the shortest of the
// scenarios that claim a fault gets a cell.
func claimed(all []*scenario.Scenario, quick bool) []*SelftestCell {
	var out []*SelftestCell
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
			out = append(out, &SelftestCell{Scenario: s.ID, Fault: fault})
		}
	}
	return out
}

func (t *tester) takes(c *SelftestCell) time.Duration { return t.byID[c.Scenario].Summary().Duration }

// A worker has some places. A trial takes all of them. A trial of at least `waits` mostly waits, and takes
// one.
const (
	selftestPlaces = 2
	waits          = 3 * time.Second
)

// try runs the cells in their order, at most workers at a time. With one worker, each cell runs alone.
func (t *tester) try(ctx context.Context, cells []*SelftestCell, workers int) {
	free := make(chan struct{}, selftestPlaces*workers)
	var wg sync.WaitGroup
	for _, c := range cells {
		takes := selftestPlaces
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

// one runs one cell. A cell that an interruption cut short stays untried.
func (t *tester) one(ctx context.Context, c *SelftestCell, quiet bool) {
	s := *t.byID[c.Scenario]
	s.Target.Fault = c.Fault
	t.mu.Lock()
	t.number++
	id := fmt.Sprintf("selftest-%d", t.number)
	t.mu.Unlock()
	out := t.o.Run(ctx, &s, id, c.Fault != "" && !quiet)
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

// why says in a sentence what a verdict is based on: the first claim that failed, or the reason.
func why(out result.Scenario) string {
	for _, c := range out.Claims {
		if out.Verdict == result.Fail && c.Verdict == result.Fail {
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

// quietly is how often unsure cells are tried on a quiet machine.
const quietly = 2

// sure tells whether a cell needs no other try on a quiet machine. A right target that fails is a false
// alarm, which no later pass undoes, unless only a latency failed. A fault must be caught for more than being
// slow beside others.
func (c *SelftestCell) sure() bool {
	if c.Verdict == result.Fail && c.beyondLatency() {
		return true
	}
	return c.Good() && (c.Verdict == result.Pass || c.quiet)
}

// beyondLatency tells whether a claim failed that is not about latency.
func (c *SelftestCell) beyondLatency() bool {
	return slices.ContainsFunc(c.claims, func(claim result.Claim) bool {
		return claim.Verdict == result.Fail && claim.Kind != result.ClaimLatency
	})
}

// Trial is a scenario against a target that is right or has a fault.
type Trial struct {
	Scenario *scenario.Scenario
	// Fault is one that the scenario claims, "" for the right target.
	Fault string
	// Unfit says why this limit cannot show the fault. Empty: it can.
	Unfit string
	// whole is the scenario with all phases, if the limit makes Scenario leave out some. nil: it does not.
	whole *scenario.Scenario
}

// Trials returns the bundled scenarios at a limit (a SPEC), each against the right target and against each
// fault that it claims. They are in ascending order of the scenario ids, and the right target comes first.
func Trials(limit string) ([]Trial, error) {
	all, err := selftestParse(scenario.ParseOptions{Limit: limit}, "*.yaml")
	if err != nil {
		return nil, err
	}
	patient, err := selftestParse(scenario.ParseOptions{Limit: limit, Set: []scenario.Setting{
		{Path: "safety.max_duration", Value: mostPatience}}}, "*.yaml")
	if err != nil {
		return nil, err
	}
	var out []Trial
	for i, s := range all {
		x := Trial{Scenario: s, Unfit: s.Unmet()}
		if s.Unfit != patient[i].Unfit {
			x.whole = patient[i]
		}
		out = append(out, x)
		for _, fault := range s.Catches {
			out = append(out, x.with(fault))
		}
	}
	return out, nil
}

// mostPatience is the longest duration that a scenario may be allowed.
const mostPatience = "168h"

// with returns the trial of the same scenario against a target with a fault.
func (x Trial) with(fault string) Trial {
	x.Fault, x.Scenario, x.whole = fault, faulty(x.Scenario, fault), faulty(x.whole, fault)
	for _, f := range faults() {
		if f.Name == fault && x.Unfit == "" {
			x.Unfit = f.Fits(x.Scenario.Limit)
		}
	}
	return x
}

// faulty returns a scenario against a target with a fault; nil for nil.
func faulty(s *scenario.Scenario, fault string) *scenario.Scenario {
	if s == nil {
		return nil
	}
	wrong := *s
	wrong.Target.Fault = fault
	return &wrong
}

// Shown is what a trial showed.
type Shown struct {
	Scenario string         `json:"scenario"`
	Fault    string         `json:"fault,omitempty"`
	Verdict  result.Verdict `json:"verdict"`
	// Why says why a fault was not shown, and what would show it, or what a FAIL found. Empty: the trial
	// passed, and nothing excuses it.
	Why string `json:"why,omitempty"`
	// Tried: the scenario was run.
	Tried bool `json:"tried"`
}

// Missed tells whether a fault that the limit can show passed.
func (s Shown) Missed() bool { return s.Fault != "" && s.Verdict == result.Pass && s.Why == "" }

// Accused tells whether a right target failed.
func (s Shown) Accused() bool { return s.Fault == "" && s.Verdict == result.Fail }

// Try runs a trial. A scenario that passes a fault without the phases that it left out is run with them: if
// they show the fault, it was left out, and not missed. That may take hours, so run uses virtual time.
func (x Trial) Try(run func(*scenario.Scenario) result.Scenario) Shown {
	out := Shown{Scenario: x.Scenario.ID, Fault: x.Fault, Verdict: result.Inconclusive, Why: x.Unfit}
	if x.Unfit != "" {
		return out
	}
	out.Tried = true
	r := run(x.Scenario)
	if out.Verdict = r.Verdict; r.Verdict != result.Pass {
		out.Why = why(r)
		return out
	}
	if x.Fault == "" || x.whole == nil {
		return out
	}
	if run(x.whole).Verdict == result.Fail {
		out.Why = fmt.Sprintf("%s (--set safety.max_duration=%s shows it)", x.Scenario.Unfit,
			text.Short(x.whole.Summary().Duration.Truncate(time.Minute)+time.Minute))
	}
	return out
}

// Read reads one Shown a line, as JSON, ascending by fault. It leaves out other lines, which are those of
// package testing.
func Read(text string) (out []Shown) {
	for line := range strings.Lines(text) {
		var s Shown
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &s) == nil {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b Shown) int { return strings.Compare(a.Fault, b.Fault) })
	return out
}

// AtLimit is a self-test at one limit: what all of its trials showed, ascending by fault.
type AtLimit []Shown

// Verdict is Fail if a claimed fault was missed or a right target accused, else Pass.
func (a AtLimit) Verdict() result.Verdict {
	if slices.ContainsFunc(a, Shown.Missed) || slices.ContainsFunc(a, Shown.Accused) {
		return result.Fail
	}
	return result.Pass
}

// Text says of each fault whether it was caught at the limit, and by which scenarios. For the others it says
// why not, and what would show them.
func (a AtLimit) Text() string {
	caught, unshown, missed := map[string][]string{}, map[string][]string{}, map[string][]string{}
	var faults []string
	var b strings.Builder
	for _, s := range a {
		switch {
		case s.Accused():
			fmt.Fprintf(&b, "%s FAILS a right target: %s\n", s.Scenario, s.Why)
		case s.Fault == "":
			continue
		case s.Missed():
			missed[s.Fault] = append(missed[s.Fault], s.Scenario)
		case s.Verdict == result.Fail:
			caught[s.Fault] = append(caught[s.Fault], s.Scenario)
		default:
			at := len(unshown[s.Fault])
			if s.Tried { // what a run lacked says more than why there was none
				at = 0
			}
			unshown[s.Fault] = slices.Insert(unshown[s.Fault], at, s.Scenario+": "+s.Why)
		}
		if s.Fault != "" && !slices.Contains(faults, s.Fault) {
			faults = append(faults, s.Fault)
		}
	}
	section := func(title string, of func(fault string) string) (n int) {
		for _, fault := range faults {
			if text := of(fault); text != "" {
				if n++; n == 1 {
					b.WriteString(title + "\n")
				}
				fmt.Fprintf(&b, "  %s: %s\n", fault, text)
			}
		}
		return n
	}
	wrong := section("missed:", func(fault string) string { return strings.Join(missed[fault], ", ") })
	hidden := section("not shown at this limit:", func(fault string) string {
		if len(caught[fault])+len(missed[fault]) > 0 || len(unshown[fault]) == 0 {
			return ""
		}
		return unshown[fault][0]
	})
	found := section("caught:", func(fault string) string { return strings.Join(caught[fault], ", ") })
	fmt.Fprintf(&b, "%d of %d faults caught, %d not shown at this limit, %d missed\n", found, len(faults),
		hidden, wrong)
	return b.String()
}

// Text returns a result as text: a line for each scenario, the wrong verdicts, the kill score, and the
// unclaimed faults.
func (r *SelftestResult) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "scenario\tcorrect target\tfaults caught\n")
	for _, c := range r.Cells {
		if c.Fault != "" {
			continue
		}
		killed, claimed := r.Killed(c.Scenario)
		fmt.Fprintf(w, "%s\t%s\t%d of %d\n", c.Scenario, c.Verdict, killed, claimed)
	}
	_ = w.Flush() // writing to a builder never fails
	for _, c := range r.Cells {
		if !c.Good() {
			fmt.Fprintf(&b, "\n%s: %s\n", c.title(), c.Why)
		}
	}
	killed, claimed := r.Killed("")
	fmt.Fprintf(&b, "\n%d of %d claimed faults caught%s, in %s\n", killed, claimed,
		percent(killed, claimed), r.Duration.Round(100*time.Millisecond))
	if n := len(r.Unclaimed); n > 0 {
		fmt.Fprintf(&b, "%d of %d known faults are claimed by no bundled scenario: %s\n", n, r.Known,
			strings.Join(r.Unclaimed, ", "))
	} else {
		fmt.Fprintf(&b, "all %d known faults are claimed by a bundled scenario\n", r.Known)
	}
	if r.Interrupted {
		b.WriteString("interrupted: the rest was not tried\n")
	}
	return b.String()
}

// title says what is wrong with a cell.
func (c SelftestCell) title() string {
	switch {
	case c.Verdict == result.Inconclusive && c.Fault == "":
		return c.Scenario + ", correct target: inconclusive"
	case c.Verdict == result.Inconclusive:
		return c.Scenario + ", " + c.Fault + ": inconclusive"
	case c.Fault == "":
		return c.Scenario + " FAILS a correct target"
	default:
		return c.Scenario + " misses " + c.Fault
	}
}

func percent(part, whole int) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f %%)", 100*float64(part)/float64(whole))
}
