package selftest

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/pacing"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/scenario/grammar"
	"github.com/rlcheck/rlcheck/internal/target"
	"github.com/rlcheck/rlcheck/internal/trial"
	"github.com/rlcheck/rlcheck/internal/verdict"
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

// longestTrial is after what virtual time a trial is cut short.
const longestTrial = 2 * time.Hour

// Virtually runs a scenario in virtual time on a network in memory. Testing/synctest wants a test. The first
// proof of a failure is enough: why a fault is one, and which other limit would explain it, is not asked. A
// bubble of synctest begins with a day. The seed says how much later in the day the trial begins, so that
// windows are not always met at their beginning.
func Virtually(t *testing.T, s *scenario.Scenario, n trial.Network, seed uint64) (out result.Scenario) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Duration(rand.New(rand.NewPCG(seed, 1)).Int64N(int64(20 * time.Hour))))
		ctx, stop := context.WithTimeout(t.Context(), longestTrial)
		defer stop()
		out = trial.Scenario(ctx, s, trial.Options{ID: "m", Seed: seed, Network: n, Pacer: pacing.Sleep(),
			OnlyProofs: true,
			Embed: func(s *scenario.Scenario, seed uint64, n trial.Network) (trial.Embedded, error) {
				return lab.Embed(s, seed, "", n)
			}})
		time.Sleep(time.Minute) // what was on its way at the end comes to its end
	})
	if out.Timeline != nil && out.Verdict != verdict.Fail {
		trial.Judge(&out, s, out.Timeline)
	}
	return out
}
