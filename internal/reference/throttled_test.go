package reference

import (
	"context"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/throttled/throttled/v2"
	"pgregory.net/rapid"
)

// handClock is a throttled store for one key whose time is set by hand.
type handClock struct {
	now   time.Time
	value int64
	set   bool
}

func (s *handClock) GetWithTime(context.Context, string) (int64, time.Time, error) {
	if !s.set {
		return -1, s.now, nil
	}
	return s.value, s.now, nil
}

func (s *handClock) SetIfNotExistsWithTTL(_ context.Context, _ string, v int64, _ time.Duration) (bool,
	error) {
	if s.set {
		return false, nil
	}
	s.value, s.set = v, true
	return true, nil
}

func (s *handClock) CompareAndSwapWithTTL(_ context.Context, _ string, old, v int64, _ time.Duration) (bool,
	error) {
	if !s.set || s.value != old {
		return false, nil
	}
	s.value = v
	return true, nil
}

// TestGCRADecidesAsThrottled compares the outcome, Remaining, RetryAfter and Reset with the GCRA of
// throttled/throttled, to the nanosecond. Its cell time is cut to whole nanoseconds, so that the rates here
// have whole ones. For a cost over the burst it gives no wait and no meaningful Reset, so that only the
// outcome is compared.
func TestGCRADecidesAsThrottled(t *testing.T) {
	var allowed, denied int
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int64{1, 2, 8, 10, 125, 1000}).Draw(rt, "rate")
		burst := rapid.Int64Range(1, 12).Draw(rt, "burst")
		s := newSubject(rt, spec.Policy{Algorithm: spec.GCRA, Rate: spec.Rate{N: n, Per: time.Second},
			Burst: burst}.String())
		store := &handClock{now: time.Unix(1_800_000_000, 0)}
		theirs, err := throttled.NewGCRARateLimiterCtx(store,
			throttled.RateQuota{MaxRate: throttled.PerSec(int(n)), MaxBurst: int(burst - 1)})
		if err != nil {
			rt.Fatal(err)
		}
		for range 60 {
			cell := time.Second / time.Duration(n)
			store.now = store.now.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, 1, cell, cell - 1, cell / 3,
				5 * cell}).
				Draw(rt, "gap"))
			cost := rapid.Int64Range(1, burst+1).Draw(rt, "cost")
			var d Decision
			s.state, d = s.limiter.Step(s.state, time.Duration(store.now.UnixNano()), cost)
			limited, want, err := theirs.RateLimitCtx(context.Background(), "", int(cost))
			if err != nil {
				rt.Fatal(err)
			}
			count(d, &allowed, &denied)
			if d.Allow == limited {
				rt.Fatalf("%v, cost %d: got %+v, throttled limited %v", s.limit, cost, d, limited)
			}
			if cost > burst {
				continue
			}
			if d.Remaining != int64(want.Remaining) || d.Reset != want.ResetAfter ||
				limited && d.RetryAfter != want.RetryAfter {
				rt.Fatalf("%v, cost %d: got %+v, throttled %+v", s.limit, cost, d, want)
			}
		}
	})
	wantBoth(t, allowed, denied)
}
