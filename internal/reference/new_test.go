package reference

import (
	"errors"
	"github.com/rlcheck/rlcheck/internal/spec"
	"math"
	"testing"
	"time"
)

// TestNewRefuses checks that policies made without Parse obey the same rules.
func TestNewRefuses(t *testing.T) {
	second := spec.Rate{N: 10, Per: time.Second}
	for name, p := range map[string]spec.Policy{
		"nothing":      {},
		"no algorithm": {Algorithm: "bucket", Rate: second, Burst: 1},
		"no rate":      {Algorithm: spec.FixedWindow},
		"a negative rate": {Algorithm: spec.FixedWindow,
			Rate: spec.Rate{N: -1, Per: time.Second}},
		"a negative window": {Algorithm: spec.FixedWindow,
			Rate: spec.Rate{N: 1, Per: -time.Second}},
		"no burst":         {Algorithm: spec.GCRA, Rate: second},
		"a negative burst": {Algorithm: spec.GCRA, Rate: second, Burst: -1},
		"a negative tick":  {Algorithm: spec.FixedWindow, Rate: second, Tick: -1},
		"a negative ban":   {Algorithm: spec.FixedWindow, Rate: second, Bans: spec.Bans{Ban: -1}},
		"a phase outside the window": {Algorithm: spec.FixedWindow, Rate: second, Align: spec.AlignPhase,
			WindowPhase: spec.WindowPhase{PhaseFrom: time.Second}},
		"a refresh of the clock": {Algorithm: spec.FixedWindow, Rate: second, Refresh: spec.RefreshAll},
		"a refresh of a counter": {Algorithm: spec.SlidingWindowCounter, Rate: second,
			Align: spec.AlignFirst, Refresh: spec.RefreshAll},
		"two times to live": {Algorithm: spec.FixedWindow, Rate: second, Align: spec.AlignFirst,
			Refresh: spec.RefreshAll, Lifetime: spec.Lifetime{TTL: 1}},
		"an unknown word":           {Algorithm: spec.FixedWindow, Rate: second, Align: "left"},
		"rounding of a bucket":      {Algorithm: spec.GCRA, Rate: second, Burst: 1, Rounding: spec.RoundUp},
		"another burst of a window": {Algorithm: spec.FixedWindow, Rate: second, Burst: 11},
		"a fill without interval":   {Algorithm: spec.TokenBucket, Rate: second, Burst: 1, Fill: 1},
		"an interval without a fill": {Algorithm: spec.TokenBucket, Rate: second, Burst: 1,
			Refill: spec.RefillInterval},
		"a product over 2^62": {Algorithm: spec.GCRA, Rate: second,
			Burst: math.MaxInt64 / int64(time.Second)},
		"no place":        {Algorithm: spec.Concurrency},
		"a ban of places": {Algorithm: spec.Concurrency, Rate: second, Bans: spec.Bans{Ban: 1}},
		"a hold that runs backwards": {Algorithm: spec.Concurrency, Rate: second,
			Completion: spec.Completion{HoldLeast: 2, HoldMost: 1}},
		"a hold without completion": {Algorithm: spec.FixedWindow, Rate: second,
			Completion: spec.Completion{HoldLeast: 2}},
		"late charges of denials": {Algorithm: spec.FixedWindow, Rate: second,
			Completion: spec.Completion{Charge: spec.ChargeCompletion}, Count: spec.CountAll},
		"late charges of a queue": {Algorithm: spec.LeakyBucketQueue, Rate: second, Queue: 1,
			Completion: spec.Completion{Charge: spec.ChargeCompletion}},
		"more undelayed than waiting": {Algorithm: spec.LeakyBucketQueue, Rate: second, Queue: 1,
			Undelayed: 2},
	} {
		var e *spec.ParseError
		if l, err := New(p); !errors.As(err, &e) {
			t.Errorf("New with %s: got %v, error %v, want a *ParseError", name, l, err)
		}
	}
	if _, err := NewLimit(nil); err == nil {
		t.Error("NewLimit of no policy: got no error")
	}
}

// FuzzNew makes a limiter of any text that Parse accepts, and asks it once.
func FuzzNew(f *testing.F) {
	for _, text := range contractSpecs {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		limit, err := spec.Parse(text)
		if err != nil {
			return
		}
		l, err := NewLimit(limit)
		if err != nil {
			t.Fatalf("NewLimit of %q: %v", text, err)
		}
		l.Step(l.Init(), 0, 1)
	})
}
