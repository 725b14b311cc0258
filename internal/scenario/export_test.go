package scenario

import "github.com/rlcheck/rlcheck/internal/timeline"

// LeastClients is for tests.
const LeastClients = leastClients

// PlanListing is Plan, where phases have at most so many arrivals in a list.
func (s *Scenario) PlanListing(run string, seed uint64, list int) *timeline.Schedule {
	return s.plan(run, seed, list)
}
