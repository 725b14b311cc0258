package lab

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestScriptsAtExactInstants compares each ruling with the reference at chosen instants of the server's
// clock. These are the instants at which a unit comes back or a window ends, and the microsecond around them.
// Some requests come in the same microsecond.
func TestScriptsAtExactInstants(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	server := miniredis.RunT(t)
	s, err := OpenStore("redis://" + server.Addr() + "/0")
	store := opened(t, s, err)
	// In windows of a few microseconds weighted counts often equal a bound. For the last two specs a long
	// silence is worth more grains than a double can count.
	specs := append(redisSpecs[:len(redisSpecs):len(redisSpecs)],
		"sliding-window-counter,rate=5/20us,rounding=nearest",
		"sliding-window-counter,rate=5/20us,rounding=up", "sliding-window-counter,rate=5/20us",
		"gcra,rate=1000000000/1s,burst=1000000001",
		"leaky-bucket,rate=1000000007/1s,burst=1000000009,refill=interval,fill=1000000011")
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) {
			limit := redisParse(t, spec)
			d, err := store.Decider(limit)
			if err != nil {
				t.Fatal(err)
			}
			limiter, err := reference.NewLimit(limit)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(3, 4))
			known, now := limiter.Init(), time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
			var want reference.Decision
			for i := range 300 {
				now = now.Add(instant(random, want, limit[0]))
				server.SetTime(now)
				cost := 1 + max(0, random.Int64N(12)-9)
				if limit[0].Rate.N > 1000 {
					cost = 1 + random.Int64N(limit[0].Rate.N)
				}
				at := time.Duration(now.UnixNano())
				known, want = limiter.Step(known, at, cost)
				got, err := d.Decide(t.Context(), "k", cost)
				if err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(Ruling{Decision: want, At: at}, got); diff != "" {
					t.Fatalf("seed 3,4: request %d, cost %d, at %v: (-want +got)\n%s", i, cost, now, diff)
				}
			}
		})
	}
}

// instant returns the time to the next request. It is zero, a random one, or the wait that the last decision
// promised, up to a microsecond more or less.
func instant(random *rand.Rand, last reference.Decision, p spec.Policy) time.Duration {
	wait := p.Rate.Per / time.Duration(min(p.Rate.N, 1000))
	switch n := random.IntN(10); {
	case n < 3:
		return 0
	case n < 6 && last.RetryAfter > 0 && last.RetryAfter != reference.Never:
		wait = last.RetryAfter
	case n < 8 && last.Reset > 0:
		wait = last.Reset
	case n == 9 && random.IntN(5) == 0:
		wait = time.Duration(random.Int64N(int64(100_000 * time.Hour)))
	}
	wait += time.Duration(random.IntN(3)-1) * time.Microsecond
	return max(0, wait.Round(time.Microsecond))
}

// TestScriptsWhenTheClockStepsBack sets the server's clock back by an hour. What was used up stays used up,
// and nothing is an error.
func TestScriptsWhenTheClockStepsBack(t *testing.T) {
	server := miniredis.RunT(t)
	s, err := OpenStore("redis://" + server.Addr() + "/0")
	store := opened(t, s, err)
	for _, spec := range []string{
		"gcra,rate=2/1m,burst=2", "fixed-window,rate=2/1m", "fixed-window,rate=2/1m,align=first",
		"sliding-window-log,rate=2/1m", "sliding-window-counter,rate=2/1m",
	} {
		d, err := store.Decider(redisParse(t, spec))
		if err != nil {
			t.Fatal(err)
		}
		now := time.Date(2026, 11, 20, 10, 0, 30, 0, time.UTC)
		got := ""
		for _, step := range []time.Duration{0, 0, 0, -time.Hour, 0} {
			now = now.Add(step)
			server.SetTime(now)
			r, err := d.Decide(t.Context(), "k", 1)
			if err != nil {
				t.Fatalf("%s: %v", spec, err)
			}
			got += fmt.Sprint(r.Allow, " ")
			// The sliding windows keep to the largest time that they have seen, the others to the time that
			// they were told.
			if strings.HasPrefix(spec, "sliding") && r.RetryAfter > 2*time.Minute {
				t.Errorf("%s: told to wait %v, want no more than two windows", spec, r.RetryAfter)
			}
		}
		if want := "true true false false false "; got != want {
			t.Errorf("%s: got %s, want %s", spec, got, want)
		}
	}
}
