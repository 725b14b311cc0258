package selftest

import (
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/scenario/grammar"
	"github.com/rlcheck/rlcheck/internal/target"
)

// Trial is a scenario against a target that is right or has a fault.
type Trial struct {
	Scenario *scenario.Scenario
	// Fault is one that the scenario claims, "" for the right target.
	Fault string
	// Unfit says why this limit cannot show the fault. Empty: it can.
	Unfit string
}

// Trials returns the bundled scenarios at a limit (a SPEC), each against the right target and against each
// fault that it claims. They are in ascending order of the scenario ids, and the right target comes first.
func Trials(limit string) ([]Trial, error) {
	all, err := parse(grammar.Options{Limit: limit}, "*.yaml")
	var out []Trial
	for _, s := range all {
		lacks := s.Unmet()
		out = append(out, Trial{Scenario: s, Unfit: lacks})
		for _, fault := range s.Catches {
			wrong := *s
			wrong.Target.Fault = fault
			one := Trial{Scenario: &wrong, Fault: fault, Unfit: lacks}
			for _, f := range target.Faults() {
				if f.Name == fault && lacks == "" {
					one.Unfit = f.Fits(s.Limit)
				}
			}
			out = append(out, one)
		}
	}
	return out, err
}
