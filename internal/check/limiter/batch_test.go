package limiter

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestABatchModelOfAnyRateIsMadeAtOnce: also for a rate that has no factor in common with its window. A loop
// with a step for each unit of this rate would not end.
func TestABatchModelOfAnyRateIsMadeAtOnce(t *testing.T) {
	const n = 300_000_000_000_000_019
	m := newBatchModel(spec.Policy{Algorithm: spec.TokenBucket, Rate: spec.Rate{N: n, Per: time.Second},
		Burst: 5, Refill: spec.RefillInterval, Fill: 2})
	if got := m.Traits().Scale; got != n {
		t.Errorf("got a model of scale %d, want %d", got, n)
	}
}
