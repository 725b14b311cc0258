package scenario

import "github.com/rlcheck/rlcheck/internal/timeline"

// LeastClients makes leastClients visible to the tests.
const LeastClients = leastClients

// PlanListing is Plan for phases that list at most so many arrivals.
func (s *Scenario) PlanListing(run string, seed uint64, list int) *timeline.Schedule {
	return s.plan(run, seed, list)
}
