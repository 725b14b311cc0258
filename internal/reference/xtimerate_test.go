package reference

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"golang.org/x/time/rate"
	"pgregory.net/rapid"
)

// TestTokenBucketDecidesAsXTimeRate compares with golang.org/x/time/rate at instants that are exact in its
// floating point. These are multiples of 1/512 s at whole rates, so that each sum is a whole number of 1/512
// tokens.
func TestTokenBucketDecidesAsXTimeRate(t *testing.T) {
	const grain = time.Second / 512
	var allowed, denied int
	rapid.Check(t, func(rt *rapid.T) {
		n, burst := rapid.Int64Range(1, 1000).Draw(rt, "rate"), rapid.Int64Range(1, 30).Draw(rt, "burst")
		s := newSubject(rt, spec.Policy{Algorithm: spec.TokenBucket, Rate: spec.Rate{N: n, Per: time.Second},
			Burst: burst}.String())
		theirs := rate.NewLimiter(rate.Limit(n), int(burst))
		at := 1_800_000_000 * time.Second
		for range 60 {
			at += grain * time.Duration(rapid.Int64Range(0, 1+512/n).Draw(rt, "gap"))
			cost := rapid.Int64Range(1, 3).Draw(rt, "cost")
			var d Decision
			s.state, d = s.limiter.Step(s.state, at, cost)
			if want := theirs.AllowN(time.Unix(0, int64(at)), int(cost)); d.Allow != want {
				rt.Fatalf("%v at %d, cost %d: got %v, x/time/rate %v", s.limit, at, cost, d.Allow, want)
			}
			if want := int64(theirs.TokensAt(time.Unix(0, int64(at)))); d.Remaining != want {
				rt.Fatalf("%v at %d: got remaining %d, x/time/rate %d", s.limit, at, d.Remaining, want)
			}
			count(d, &allowed, &denied)
		}
	})
	wantBoth(t, allowed, denied)
}

// TestTokenBucketDecidesAsXTimeRateNearly compares at any nanosecond, often just beside the instant of the
// next admission. A request within 3 ns of both answers is moved by a microsecond. The reason is that
// x/time/rate truncates a wait below 1 ns to none, and loses the rest to floating point.
func TestTokenBucketDecidesAsXTimeRateNearly(t *testing.T) {
	const lost = 3
	var allowed, denied, moved int
	rapid.Check(t, func(rt *rapid.T) {
		n, burst := rapid.Int64Range(1, 1000).Draw(rt, "rate"), rapid.Int64Range(1, 30).Draw(rt, "burst")
		s := newSubject(rt, spec.Policy{Algorithm: spec.TokenBucket, Rate: spec.Rate{N: n, Per: time.Second},
			Burst: burst}.String())
		theirs := rate.NewLimiter(rate.Limit(n), int(burst))
		at := 1_800_000_000 * time.Second
		for range 60 {
			cost := rapid.Int64Range(1, min(3, burst)).Draw(rt, "cost")
			gap := time.Duration(rapid.Int64Range(lost+1, 2*int64(time.Second)/n).Draw(rt, "gap"))
			if _, d := s.limiter.Step(s.state, at, cost); !d.Allow && gap%2 == 0 {
				gap = d.RetryAfter + time.Duration(rapid.Int64Range(-2*lost, 2*lost).Draw(rt, "beside"))
			}
			at += max(gap, 0)
			_, early := s.limiter.Step(s.state, at-lost, cost)
			_, late := s.limiter.Step(s.state, at+lost, cost)
			if early.Allow != late.Allow {
				moved++
				at += time.Microsecond
			}
			var d Decision
			s.state, d = s.limiter.Step(s.state, at, cost)
			if want := theirs.AllowN(time.Unix(0, int64(at)), int(cost)); d.Allow != want {
				rt.Fatalf("%v at %d, cost %d: got %v, x/time/rate %v", s.limit, at, cost, d.Allow, want)
			}
			count(d, &allowed, &denied)
		}
	})
	wantBoth(t, allowed, denied)
	t.Logf("%d of %d requests moved", moved, allowed+denied)
}

// count counts a decision as allowed or denied.
func count(d Decision, allowed, denied *int) {
	if d.Allow {
		*allowed++
	} else {
		*denied++
	}
}

// wantBoth fails if one of the outcomes never came.
func wantBoth(t *testing.T, allowed, denied int) {
	t.Helper()
	if allowed == 0 || denied == 0 {
		t.Errorf("got %d allowed and %d denied, want both", allowed, denied)
	}
}
