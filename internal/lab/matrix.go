package lab

import (
	"fmt"
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
	for _, f := range Faults() {
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
