package check

import (
	"math/rand/v2"
	"testing"
)

// TestBisectFindsTheSame: bisect finds the least value within its precision, wherever it begins. If it begins
// at that value, it asks twice.
func TestBisectFindsTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		lo := 1 + r.Int64N(50)
		hi := lo + r.Int64N([]int64{3, 100, 1 << 40}[r.IntN(3)])
		want := lo + r.Int64N(hi-lo+2) // hi+1: no value satisfies it
		near := r.Int64N(2 * hi)
		got := around(near, lo, hi).first(near, func(x int64) bool {
			if x < lo || x > hi {
				t.Fatalf("asked for %d of %d..%d", x, lo, hi)
			}
			return x >= want
		})
		if got < want || got-want > near/1_000_000 || want > hi && got != hi+1 {
			t.Fatalf("%d..%d from %d: got %d, want %d", lo, hi, near, got, want)
		}
	}
	asked := 0
	around(20, 1, 20<<12).first(20, func(x int64) bool { asked++; return x >= 20 })
	if asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
}
