package scenario

import (
	"math"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"pgregory.net/rapid"
)

func TestConstantArrivalsAreEvenAndExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Phase{Shape: timeline.Constant,
			Rate: spec.Rate{N: rapid.Int64Range(1, 1e6).Draw(t, "n"),
				Per: time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "per"))}}
		k := rapid.IntRange(0, 1e6).Draw(t, "k")
		if MulDiv(int64(k), int64(p.Rate.Per), p.Rate.N, true) == math.MaxInt64 {
			t.Skip("no plan lasts that long")
		}
		due := p.times(nil)
		// Request k is due at k*per/n, rounded down: k*per - due*n is in [0, n). Both products wrap alike.
		if rest := int64(k)*int64(p.Rate.Per) - int64(due(k))*p.Rate.N; rest < 0 || rest >= p.Rate.N {
			t.Fatalf("request %d of rate %s is due at %s: the remainder is %d", k, p.Rate, due(k), rest)
		}
	})
}

func TestRampFollowsItsIntegral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Phase{Shape: timeline.Ramp, From: spec.Rate{N: rapid.Int64Range(1, 5000).Draw(t, "from"),
			Per: time.Second},
			To:       spec.Rate{N: rapid.Int64Range(1, 5000).Draw(t, "to"), Per: time.Second},
			Duration: time.Duration(rapid.Int64Range(1e7, 1e11).Draw(t, "duration"))}
		n := int(rampCount(p.From, p.To, p.Duration))
		// the mean rate times the duration, rounded up
		if mean := float64(p.From.N+p.To.N) / 2 * p.Duration.Seconds(); math.Abs(float64(n)-mean) > 1.001 {
			t.Fatalf("%s to %s for %s: got %d requests, want about %.1f", p.From, p.To, p.Duration, n, mean)
		}
		k := rapid.IntRange(0, max(0, n-1)).Draw(t, "k")
		due := p.times(nil)
		at := due(k)
		f, g, d, x := float64(p.From.N), float64(p.To.N), p.Duration.Seconds(), at.Seconds()
		if sent := f*x + (g-f)*x*x/(2*d); math.Abs(sent-float64(k)) > 0.01 {
			t.Fatalf("request %d is due at %s, when %.3f were due", k, at, sent)
		}
		if due(k+1) < at {
			t.Fatalf("request %d is due before request %d", k+1, k)
		}
	})
}
