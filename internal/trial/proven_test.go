package trial_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// longestTrial is after what virtual time a trial is cut short.
const longestTrial = 200 * time.Hour

// provenVirtually runs a scenario in virtual time on a network in memory. Testing/synctest wants a test. The
// first proof of a failure is enough: why a fault is one, and which other limit would explain it, is not
// asked. A bubble of synctest begins with a day. The seed says how much later in the day the trial begins, so
// that windows are not always met at their beginning.
func provenVirtually(t *testing.T, s *scenario.Scenario, n trial.Network, seed uint64) (out result.Scenario) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Duration(rand.New(rand.NewPCG(seed, 1)).Int64N(int64(20 * time.Hour))))
		ctx, stop := context.WithTimeout(t.Context(), longestTrial)
		defer stop()
		out = trial.Scenario(ctx, s,
			trial.Options{ID: "m", Seed: seed, Network: n, Pacer: transport.SleepingPacer(),
				OnlyProofs: true,
				Embed: func(s *scenario.Scenario, seed uint64, n trial.Network) (trial.Embedded, error) {
					return lab.Embed(s, seed, "", n)
				}})
		time.Sleep(time.Minute) // what was on its way at the end comes to its end
	})
	if out.Timeline != nil && out.Verdict != result.Fail {
		trial.Judge(&out, s, out.Timeline)
	}
	return out
}
