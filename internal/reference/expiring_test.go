package reference

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"math/rand/v2"
	"testing"
	"time"
)

// TestAFreshBucketThatIsNotFull: RetryAfter is the first time at which a request is admitted if nothing else
// arrives. It is Never if the partition is forgotten before that, and begins with less again.
func TestAFreshBucketThatIsNotFull(t *testing.T) {
	for _, text := range []string{"token-bucket,rate=1/100ns,burst=5,start=empty,ttl=30ns",
		"gcra,rate=1/20ns,burst=5,start=2,ttl=30ns",
		"leaky-bucket-queue,rate=1/20ns,queue=4,start=1,ttl=50ns",
		"token-bucket,rate=1/20ns,burst=5,start=2,ttl=60ns,ban=35ns",
		"token-bucket,rate=1/20ns,burst=5,start=2,ttl=60ns,ban=100ns"} {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		lim, err := NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		never := 0
		for range 200 {
			s, at := lim.Init(), time.Duration(0)
			for range 12 {
				cost := 1 + r.Int64N(4)
				var d Decision
				if s, d = lim.Step(s, at, cost); !d.Allow {
					want := Never
					for wait := time.Duration(1); wait < 400 && want == Never; wait++ {
						if _, then := lim.Step(s, at+wait, cost); then.Allow {
							want = wait
						}
					}
					if d.RetryAfter != want {
						t.Fatalf("%s: cost %d at %d: RetryAfter %d, want %d", text, cost, at, d.RetryAfter,
							want)
					}
					if want == Never {
						never++
					}
				}
				at += time.Duration(r.IntN(40))
			}
		}
		if never == 0 {
			t.Errorf("%s: every request is admitted in time, want some that never is", text)
		}
	}
}
