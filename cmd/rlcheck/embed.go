package main

import (
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// embedTarget returns what starts the embedded target of a scenario. redis says where it keeps its state, as
// in lab.OpenStore.
func embedTarget(redis string) func(*scenario.Scenario, uint64, trial.Network) (trial.Embedded, error) {
	return func(s *scenario.Scenario, seed uint64, n trial.Network) (trial.Embedded, error) {
		return lab.Embed(s, seed, redis, n)
	}
}
