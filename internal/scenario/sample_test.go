package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Planned is PlanOf with two partitions and a limit of 10/s, burst 5. A line is a phase without its braces.
func Planned(t *testing.T, lines ...string) (*scenario.Scenario, *timeline.Schedule) {
	t.Helper()
	phases := make([]string, len(lines))
	for i, line := range lines {
		phases[i] = "{" + line + "}"
	}
	return PlanOf(t, 2, "{algorithm: token-bucket, rate: 10/s, burst: 5}", phases...)
}

// PlanOf reads a scenario of so many partitions with a limit and phases, and plans it as the run "run".
func PlanOf(t *testing.T, count int, limit string, phases ...string) (*scenario.Scenario,
	*timeline.Schedule) {
	t.Helper()
	src := fmt.Sprintf("id: x\ntitle: T\nkind: required\ntarget: {origin: builtin}\npartition: {header: K, "+
		"count: %d}\nlimit: %s\nphases:\n  - %s\n",
		count, limit, strings.Join(phases, "\n  - "))
	s, err := scenario.Parse([]byte(src), "x.yaml", scenario.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Plan("run", 3)
	if err != nil {
		t.Fatal(err)
	}
	return s, plan
}
