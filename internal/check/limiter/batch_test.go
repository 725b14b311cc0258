package limiter

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestABatchModelOfAnyRateIsMadeAtOnce: also of one that has no factor in common with its window.
func TestABatchModelOfAnyRateIsMadeAtOnce(t *testing.T) {
	begun := time.Now()
	m := newBatchModel(spec.Policy{Algorithm: spec.TokenBucket,
		Rate: spec.Rate{N: 3_000_000_019, Per: time.Second}, Burst: 5,
		Refill: spec.RefillInterval, Fill: 2})
	if took := time.Since(begun); took > time.Second || m.Traits().Scale != 3_000_000_019 {
		t.Errorf("a model of scale %d in %s", m.Traits().Scale, took)
	}
}
