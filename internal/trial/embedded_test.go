package trial

import (
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// embedded starts our own target, with its state in memory.
func embedded(s *scenario.Scenario, seed uint64, n Network) (Embedded, error) {
	return lab.Embed(s, seed, "", n)
}
