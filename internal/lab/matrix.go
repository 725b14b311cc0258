package lab

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/text"
)

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
	patient, err := selftestParse(scenario.ParseOptions{Limit: limit, Set: []tree.Setting{
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
