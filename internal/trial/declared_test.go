package trial

import (
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// TestTheDeclaredLimitCountsWhereverItIsRefuted: a burst too large fails the run, whatever kind the scenario
// is that shows it. Who the client is, what a request asks and what an event undoes counts by the kind, and
// says nothing of the quota.
func TestTheDeclaredLimitCountsWhereverItIsRefuted(t *testing.T) {
	for _, c := range []struct {
		fault, scenario string
		counts          bool
	}{
		{"burst-off-by-one", "denial-response", true},
		{"burst-off-by-one", "header-contract", true},
		{"burst-off-by-one", "restart", true},
		{"burst-off-by-one", "adaptive", true},
		{"restart-forgets", "restart", false},
		{"reload-ignored", "adaptive", false},
		{"burst-off-by-one", "key-aliases", false},
		{"key-by-query", "key-aliases", false},
		{"missing-key-unlimited", "unnamed-clients", false},
		{"key-by-method", "head-and-methods", false},
	} {
		opts := scenario.ParseOptions{Limit: "token-bucket,rate=10/s,burst=20"}
		r := result.Run{Scenarios: []result.Scenario{against(t, bundled(t, opts, c.scenario)[0], c.fault)}}
		r.Policy, r.Scenarios = Together(r.Scenarios)
		s := &r.Scenarios[0]
		if s.Required() || s.Verdict != result.Fail || len(s.Findings()) == 0 {
			t.Errorf("%s in %s: %s, %s", c.fault, c.scenario, s.Kind, explain(*s))
			continue
		}
		if got := r.Verdict(false) == result.Fail; got != c.counts {
			t.Errorf("%s in %s: the run is %s, counts: want %t", c.fault, c.scenario, r.Verdict(false),
				c.counts)
		}
		if got := r.Policy != nil && slices.Contains(r.Policy.From, s.ID); got != c.counts {
			t.Errorf("%s in %s: measured the policy: got %t, want %t", c.fault, c.scenario, got, c.counts)
		}
	}
}
